-- link_clicks_by_day
WITH scoped AS (
  SELECT
    (
      DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) + 0
    ) - (
      DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) + 0
    ) % 86400000 AS bucket
  FROM (
    SELECT
      link_id,
      ts,
      is_bot
    FROM clicks FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    link_id = 'go' AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC' AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC' AND is_bot IS DISTINCT FROM TRUE
)
SELECT
  bucket AS row_date,
  COUNT(*) AS row_clicks
FROM scoped
GROUP BY
  bucket
ORDER BY
  row_date;

-- outbound_domains
WITH scoped AS (
  SELECT
    visitor_hash,
    href,
    outbound_domain
  FROM (
    SELECT
      website_id,
      ts,
      visitor_hash,
      href,
      outbound_domain,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), result AS (
  SELECT
    outbound_domain AS row_domain,
    COUNT(*) AS row_total_clicks,
    COUNT(DISTINCT visitor_hash) AS row_unique_users,
    COUNT(DISTINCT href) AS row_unique_links,
    COUNT(*) AS percentage_part,
    SUM(COUNT(*)) OVER () AS percentage_whole
  FROM scoped
  WHERE
    NOT (outbound_domain IS NULL)
  GROUP BY
    outbound_domain
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  row_total_clicks DESC,
  row_domain
OFFSET 0
LIMIT 100;

-- top_pages
WITH scoped AS (
  SELECT
    visitor_hash,
    name,
    path
  FROM (
    SELECT
      website_id,
      ts,
      visitor_hash,
      name,
      path,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), result AS (
  SELECT
    path AS row_name,
    COUNT(*) AS row_pageviews,
    COUNT(DISTINCT visitor_hash) AS row_visitors,
    COUNT(DISTINCT visitor_hash) AS percentage_part,
    SUM(COUNT(DISTINCT visitor_hash)) OVER () AS percentage_whole
  FROM scoped
  WHERE
    name IN ('screen_view', 'pageview') AND NOT (path IS NULL)
  GROUP BY
    path
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  row_visitors DESC,
  row_pageviews DESC,
  row_name
OFFSET 0
LIMIT 100;

-- custom_events_recent
WITH scoped AS (
  SELECT
    name,
    outbound_domain,
    DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) AS ms
  FROM (
    SELECT
      website_id,
      ts,
      name,
      outbound_domain,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
)
SELECT
  (((ms) - (ms) % (900000)) / (900000)) AS quarter,
  COUNT(*) AS row_count
FROM scoped
WHERE
  NOT name IN ('screen_view', 'pageview')
  AND name <> 'page_exit'
  AND (outbound_domain IS NULL)
GROUP BY
  (((ms) - (ms) % (900000)) / (900000))
ORDER BY
  quarter;

-- top_path_groups
WITH scoped AS (
  SELECT
    visitor_hash,
    name,
    CASE
      WHEN website_id = 'shop'
      AND (
        path = '/blog' OR path LIKE '/blog/%' ESCAPE '!'
      )
      THEN CAST('Blog' AS VARCHAR)
    END AS path_group
  FROM (
    SELECT
      website_id,
      ts,
      visitor_hash,
      name,
      path,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), result AS (
  SELECT
    path_group AS row_name,
    COUNT(*) AS row_pageviews,
    COUNT(DISTINCT visitor_hash) AS row_visitors,
    COUNT(DISTINCT visitor_hash) AS percentage_part,
    SUM(COUNT(DISTINCT visitor_hash)) OVER () AS percentage_whole
  FROM scoped
  WHERE
    name IN ('screen_view', 'pageview') AND NOT (path_group IS NULL)
  GROUP BY
    path_group
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  row_visitors DESC,
  row_pageviews DESC,
  row_name
OFFSET 0
LIMIT 100;

-- top_folders
WITH scoped AS (
  SELECT
    visitor_hash,
    name,
    CASE
      WHEN STRPOS(SUBSTR(path, 2), '/') > 0
      THEN SUBSTR(path, 1, STRPOS(SUBSTR(path, 2), '/'))
      ELSE path
    END AS folder
  FROM (
    SELECT
      website_id,
      ts,
      visitor_hash,
      name,
      path,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), result AS (
  SELECT
    folder AS row_name,
    COUNT(*) AS row_pageviews,
    COUNT(DISTINCT visitor_hash) AS row_visitors,
    COUNT(DISTINCT visitor_hash) AS percentage_part,
    SUM(COUNT(DISTINCT visitor_hash)) OVER () AS percentage_whole
  FROM scoped
  WHERE
    name IN ('screen_view', 'pageview') AND NOT (folder IS NULL)
  GROUP BY
    folder
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  row_visitors DESC,
  row_pageviews DESC,
  row_name
OFFSET 0
LIMIT 100;

-- session_duration_distribution
WITH scoped AS (
  SELECT
    ts,
    kafka_partition,
    kafka_offset,
    seq,
    visitor_hash,
    session_hash,
    name,
    time_on_page,
    interactive,
    COALESCE(epoch, 0) AS epoch,
    DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) AS ms
  FROM (
    SELECT
      website_id,
      ts,
      kafka_partition,
      kafka_offset,
      seq,
      visitor_hash,
      session_hash,
      name,
      time_on_page,
      interactive,
      is_bot,
      epoch
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), visit_rows AS (
  SELECT
    *
  FROM scoped
), session_rows AS (
  SELECT
    session_hash AS session_hash,
    ts AS started_at,
    ts AS ended_at,
    CASE WHEN name IN ('screen_view', 'pageview') THEN 1 ELSE 0 END AS page_views,
    CASE
      WHEN NOT name IN ('screen_view', 'pageview')
      AND name <> 'page_exit'
      AND COALESCE(interactive, TRUE)
      THEN 1
      ELSE 0
    END AS other_events,
    time_on_page AS visible_time,
    (
      (
        (
          CAST(ms * 256 + epoch % 256 AS DECIMAL(38, 0)) * 65536 + kafka_partition
        ) * 1099511627776 + kafka_offset
      ) * 1048576 + seq
    ) AS row_order,
    visitor_hash AS view_visitor
  FROM visit_rows
  WHERE
    NOT (session_hash IS NULL)
), session_summaries AS (
  SELECT
    session_hash AS session_key,
    MIN_BY(view_visitor, row_order) FILTER(WHERE
      page_views > 0) AS visitor,
    DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MIN(started_at)) AS started_ms,
    DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MAX(ended_at)) AS ended_ms,
    CAST(SUM(page_views) AS BIGINT) AS page_views,
    CAST(SUM(other_events) AS BIGINT) AS other_events,
    COALESCE(GREATEST(DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MAX(ended_at)) - DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MIN(started_at)), CAST(COALESCE(SUM(visible_time), 0) * 1000 AS BIGINT)), DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MAX(ended_at)) - DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MIN(started_at)), CAST(COALESCE(SUM(visible_time), 0) * 1000 AS BIGINT)) AS duration_ms
  FROM session_rows
  GROUP BY
    session_hash
  HAVING
    CAST(SUM(page_views) AS BIGINT) > 0
), result AS (
  SELECT
    CASE
      WHEN duration_ms >= 3600000
      THEN '1h+'
      WHEN duration_ms >= 900000
      THEN '15m-1h'
      WHEN duration_ms >= 300000
      THEN '5m-15m'
      WHEN duration_ms >= 60000
      THEN '1m-5m'
      WHEN duration_ms >= 30000
      THEN '30s-1m'
      ELSE '0-30s'
    END AS label,
    COUNT(*) AS sessions,
    COUNT(DISTINCT visitor) AS visitors
  FROM session_summaries
  GROUP BY
    CASE
      WHEN duration_ms >= 3600000
      THEN '1h+'
      WHEN duration_ms >= 900000
      THEN '15m-1h'
      WHEN duration_ms >= 300000
      THEN '5m-15m'
      WHEN duration_ms >= 60000
      THEN '1m-5m'
      WHEN duration_ms >= 30000
      THEN '30s-1m'
      ELSE '0-30s'
    END
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  sessions DESC,
  label
OFFSET 0
LIMIT 100;

-- aggregates
WITH scoped AS (
  SELECT
    load_time
  FROM (
    SELECT
      website_id,
      ts,
      load_time,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), result AS (
  SELECT
    COUNT(load_time) AS o0,
    COUNT(DISTINCT load_time) AS o1,
    SUM(load_time) AS o2,
    (CAST(SUM(load_time) AS DOUBLE) / NULLIF(COUNT(load_time), 0)) AS o3,
    MIN(load_time) AS o4,
    MAX(load_time) AS o5,
    TRANSFORM(ARRAY[FILTER(ARRAY_SORT(ARRAY_AGG(CAST(load_time AS DOUBLE)) FILTER(WHERE CAST(load_time AS DOUBLE) IS NOT NULL)), x -> x IS NOT NULL)], a -> CASE WHEN CARDINALITY(a) > 0 THEN a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.5 AS DOUBLE)) AS BIGINT) + 1] + (a[CAST(CEIL((CARDINALITY(a) - 1) * CAST(0.5 AS DOUBLE)) AS BIGINT) + 1] - a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.5 AS DOUBLE)) AS BIGINT) + 1]) * ((CARDINALITY(a) - 1) * CAST(0.5 AS DOUBLE) - FLOOR((CARDINALITY(a) - 1) * CAST(0.5 AS DOUBLE))) END)[1] AS o6,
    TRANSFORM(ARRAY[FILTER(ARRAY_SORT(ARRAY_AGG(CAST(load_time AS DOUBLE)) FILTER(WHERE CAST(load_time AS DOUBLE) IS NOT NULL)), x -> x IS NOT NULL)], a -> CASE WHEN CARDINALITY(a) > 0 THEN a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.75 AS DOUBLE)) AS BIGINT) + 1] + (a[CAST(CEIL((CARDINALITY(a) - 1) * CAST(0.75 AS DOUBLE)) AS BIGINT) + 1] - a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.75 AS DOUBLE)) AS BIGINT) + 1]) * ((CARDINALITY(a) - 1) * CAST(0.75 AS DOUBLE) - FLOOR((CARDINALITY(a) - 1) * CAST(0.75 AS DOUBLE))) END)[1] AS o7,
    TRANSFORM(ARRAY[FILTER(ARRAY_SORT(ARRAY_AGG(CAST(load_time AS DOUBLE)) FILTER(WHERE CAST(load_time AS DOUBLE) IS NOT NULL)), x -> x IS NOT NULL)], a -> CASE WHEN CARDINALITY(a) > 0 THEN a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.9 AS DOUBLE)) AS BIGINT) + 1] + (a[CAST(CEIL((CARDINALITY(a) - 1) * CAST(0.9 AS DOUBLE)) AS BIGINT) + 1] - a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.9 AS DOUBLE)) AS BIGINT) + 1]) * ((CARDINALITY(a) - 1) * CAST(0.9 AS DOUBLE) - FLOOR((CARDINALITY(a) - 1) * CAST(0.9 AS DOUBLE))) END)[1] AS o8,
    TRANSFORM(ARRAY[FILTER(ARRAY_SORT(ARRAY_AGG(CAST(load_time AS DOUBLE)) FILTER(WHERE CAST(load_time AS DOUBLE) IS NOT NULL)), x -> x IS NOT NULL)], a -> CASE WHEN CARDINALITY(a) > 0 THEN a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.95 AS DOUBLE)) AS BIGINT) + 1] + (a[CAST(CEIL((CARDINALITY(a) - 1) * CAST(0.95 AS DOUBLE)) AS BIGINT) + 1] - a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.95 AS DOUBLE)) AS BIGINT) + 1]) * ((CARDINALITY(a) - 1) * CAST(0.95 AS DOUBLE) - FLOOR((CARDINALITY(a) - 1) * CAST(0.95 AS DOUBLE))) END)[1] AS o9,
    TRANSFORM(ARRAY[FILTER(ARRAY_SORT(ARRAY_AGG(CAST(load_time AS DOUBLE)) FILTER(WHERE CAST(load_time AS DOUBLE) IS NOT NULL)), x -> x IS NOT NULL)], a -> CASE WHEN CARDINALITY(a) > 0 THEN a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.99 AS DOUBLE)) AS BIGINT) + 1] + (a[CAST(CEIL((CARDINALITY(a) - 1) * CAST(0.99 AS DOUBLE)) AS BIGINT) + 1] - a[CAST(FLOOR((CARDINALITY(a) - 1) * CAST(0.99 AS DOUBLE)) AS BIGINT) + 1]) * ((CARDINALITY(a) - 1) * CAST(0.99 AS DOUBLE) - FLOOR((CARDINALITY(a) - 1) * CAST(0.99 AS DOUBLE))) END)[1] AS o10
  FROM scoped
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  o0 DESC
OFFSET 0
LIMIT 1000;

-- operators
WITH scoped AS (
  SELECT
    1 AS nothing
  FROM (
    SELECT
      website_id,
      ts,
      country,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
    AND (
      (
        NOT ((
          country = 'a'
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          country IS DISTINCT FROM 'a'
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          country > 'a'
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          country >= 'a'
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          country < 'a'
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          country <= 'a'
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          (country IN ('a', 'b'''))
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          (
            (country IS NULL) OR NOT (country IN ('a', 'b'''))
          )
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          STRPOS(country, 'a') > 0
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          (
            (country IS NULL) OR STRPOS(country, 'a') = 0
          )
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          STARTS_WITH(country, 'a')
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          (SUBSTR(country, LENGTH(country) - LENGTH('a') + 1) = 'a')
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          (country IS NULL)
        ) IS NOT DISTINCT FROM TRUE)
      )
      AND (
        NOT ((
          NOT (country IS NULL)
        ) IS NOT DISTINCT FROM TRUE)
      )
    )
), result AS (
  SELECT
    COUNT(*) AS o0
  FROM scoped
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  o0 DESC
OFFSET 0
LIMIT 1000;

-- properties
WITH scoped AS (
  SELECT
    properties
  FROM (
    SELECT
      website_id,
      ts,
      properties,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
    AND (
      CASE
        WHEN (JSON_FORMAT(JSON_EXTRACT(properties, '$["paid"]')) IN ('true', 'false'))
        THEN COALESCE(JSON_EXTRACT_SCALAR(properties, '$["paid"]'), NULLIF(JSON_FORMAT(JSON_EXTRACT(properties, '$["paid"]')), 'null'))
      END = 'true'
    )
), result AS (
  SELECT
    COALESCE(JSON_EXTRACT_SCALAR(properties, '$["plan"]'), NULLIF(JSON_FORMAT(JSON_EXTRACT(properties, '$["plan"]')), 'null')) AS o0,
    (CAST(SUM(CASE
      WHEN REGEXP_LIKE(JSON_FORMAT(JSON_EXTRACT(properties, '$["seats"]')), '^-?[0-9]')
      THEN TRY_CAST(COALESCE(JSON_EXTRACT_SCALAR(properties, '$["seats"]'), NULLIF(JSON_FORMAT(JSON_EXTRACT(properties, '$["seats"]')), 'null')) AS DOUBLE)
    END) FILTER(WHERE
      CASE
        WHEN REGEXP_LIKE(JSON_FORMAT(JSON_EXTRACT(properties, '$["seats"]')), '^-?[0-9]')
        THEN TRY_CAST(COALESCE(JSON_EXTRACT_SCALAR(properties, '$["seats"]'), NULLIF(JSON_FORMAT(JSON_EXTRACT(properties, '$["seats"]')), 'null')) AS DOUBLE)
      END BETWEEN -1e100 AND 1e100) AS DOUBLE) / NULLIF(COUNT(CASE
      WHEN REGEXP_LIKE(JSON_FORMAT(JSON_EXTRACT(properties, '$["seats"]')), '^-?[0-9]')
      THEN TRY_CAST(COALESCE(JSON_EXTRACT_SCALAR(properties, '$["seats"]'), NULLIF(JSON_FORMAT(JSON_EXTRACT(properties, '$["seats"]')), 'null')) AS DOUBLE)
    END) FILTER(WHERE
      CASE
        WHEN REGEXP_LIKE(JSON_FORMAT(JSON_EXTRACT(properties, '$["seats"]')), '^-?[0-9]')
        THEN TRY_CAST(COALESCE(JSON_EXTRACT_SCALAR(properties, '$["seats"]'), NULLIF(JSON_FORMAT(JSON_EXTRACT(properties, '$["seats"]')), 'null')) AS DOUBLE)
      END BETWEEN -1e100 AND 1e100), 0)) AS o1
  FROM scoped
  GROUP BY
    1
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  o1 DESC,
  o0 ASC
OFFSET 0
LIMIT 1000;

-- weekly
WITH scoped AS (
  SELECT
    ts
  FROM (
    SELECT
      website_id,
      ts,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), result AS (
  SELECT
    (
      DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) + 0
    ) - (
      (
        DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) + 0
      ) + 259200000
    ) % 604800000 AS o0,
    COUNT(*) AS o1
  FROM scoped
  GROUP BY
    1
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  o1 DESC,
  o0 ASC
OFFSET 0
LIMIT 1000;

-- day_of_week
WITH scoped AS (
  SELECT
    ts
  FROM (
    SELECT
      website_id,
      ts,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), result AS (
  SELECT
    ((((
      (
        DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) + 0
      ) + 259200000
    ) % 604800000) - ((
      (
        DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) + 0
      ) + 259200000
    ) % 604800000) % (86400000)) / (86400000)) + 1 AS o0,
    COUNT(*) AS o1
  FROM scoped
  GROUP BY
    1
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  o1 DESC,
  o0 ASC
OFFSET 0
LIMIT 1000;

-- median_visit_duration
WITH scoped AS (
  SELECT
    ts,
    session_hash,
    name,
    country,
    time_on_page,
    interactive,
    DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', ts) AS ms
  FROM (
    SELECT
      website_id,
      ts,
      session_hash,
      name,
      country,
      time_on_page,
      interactive,
      is_bot
    FROM events FOR VERSION AS OF 1
    WHERE
      day BETWEEN CAST('2026-11-10' AS DATE) AND CAST('2026-11-10' AS DATE)
  ) AS stored
  WHERE
    website_id = 'shop'
    AND ts >= TIMESTAMP '2026-11-01 00:00:00.000000 UTC'
    AND ts < TIMESTAMP '2026-12-01 00:00:00.000000 UTC'
    AND is_bot IS DISTINCT FROM TRUE
), visit_rows AS (
  SELECT
    *
  FROM scoped
), session_rows AS (
  SELECT
    session_hash AS session_hash,
    ts AS started_at,
    ts AS ended_at,
    CASE WHEN name IN ('screen_view', 'pageview') THEN 1 ELSE 0 END AS page_views,
    CASE
      WHEN NOT name IN ('screen_view', 'pageview')
      AND name <> 'page_exit'
      AND COALESCE(interactive, TRUE)
      THEN 1
      ELSE 0
    END AS other_events,
    time_on_page AS visible_time,
    ms AS view_ms
  FROM visit_rows
  WHERE
    NOT (session_hash IS NULL)
), visits AS (
  SELECT
    session_hash AS session_key,
    CAST(SUM(page_views) AS BIGINT) AS page_views,
    CAST(SUM(other_events) AS BIGINT) AS other_events,
    COALESCE(GREATEST(DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MAX(ended_at)) - DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MIN(started_at)), CAST(COALESCE(SUM(visible_time), 0) * 1000 AS BIGINT)), DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MAX(ended_at)) - DATE_DIFF('millisecond', TIMESTAMP '1970-01-01 00:00:00.000 UTC', MIN(started_at)), CAST(COALESCE(SUM(visible_time), 0) * 1000 AS BIGINT)) AS duration_ms,
    MIN(view_ms) FILTER(WHERE
      page_views > 0) AS started_ms
  FROM session_rows
  GROUP BY
    session_hash
  HAVING
    CAST(SUM(page_views) AS BIGINT) > 0
), visit_keys AS (
  SELECT DISTINCT
    session_hash AS keyed_session,
    country AS key_0
  FROM scoped
  WHERE
    NOT (session_hash IS NULL)
), visit_groups AS (
  SELECT
    key_0 AS d0,
    page_views,
    other_events,
    duration_ms
  FROM visit_keys
  JOIN visits
    ON session_key = keyed_session
), ranked_visit_groups AS (
  SELECT
    d0,
    duration_ms,
    ROW_NUMBER() OVER (PARTITION BY d0 ORDER BY duration_ms) AS row_rank,
    COUNT(*) OVER (PARTITION BY d0) AS row_count
  FROM visit_groups
), of_ranked_visits AS (
  SELECT
    d0 AS d0,
    MAX(
      CASE
        WHEN row_rank = (((row_count + 1) - (row_count + 1) % (2)) / (2))
        THEN duration_ms
      END
    ) AS low_ms,
    MAX(
      CASE
        WHEN row_rank = (((row_count + 2) - (row_count + 2) % (2)) / (2))
        THEN duration_ms
      END
    ) AS high_ms
  FROM ranked_visit_groups
  GROUP BY
    1
), merged AS (
  SELECT
    d0,
    MAX(low_ms) AS low_ms,
    MAX(high_ms) AS high_ms
  FROM (
    SELECT
      *
    FROM of_ranked_visits
  ) AS sources
  GROUP BY
    1
), result AS (
  SELECT
    d0,
    CASE
      WHEN 2000 > 0
      THEN CAST((((CAST(low_ms + high_ms AS DECIMAL(38, 0)) * 200 + CAST(2000 AS DECIMAL(38, 0))) - (CAST(low_ms + high_ms AS DECIMAL(38, 0)) * 200 + CAST(2000 AS DECIMAL(38, 0))) % (2 * CAST(2000 AS DECIMAL(38, 0)))) / (2 * CAST(2000 AS DECIMAL(38, 0)))) AS DECIMAL(24, 0)) * 0.01
    END AS m0
  FROM merged
)
SELECT
  result.*,
  COUNT(*) OVER () AS total_rows
FROM result
ORDER BY
  m0 DESC,
  d0 ASC
OFFSET 0
LIMIT 1000;
