// Outlines of the countries as SVG paths, in a Natural Earth projection of 960 x 470.
import { readFileSync } from "node:fs";
import { geoNaturalEarth1, geoPath } from "d3-geo";
import iso from "i18n-iso-countries";
import { feature } from "topojson-client";

const ANTARCTICA = "010";
const read = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}`, import.meta.url)));

// [[two-letter code or "", path], ...]; a country without a code of its own is drawn, not named.
export function worldPaths() {
  const atlas = read("world-atlas/countries-110m.json");
  const land = feature(atlas, atlas.objects.countries);
  land.features = land.features.filter(({ id }) => id !== ANTARCTICA);
  const path = geoPath(geoNaturalEarth1().fitSize([960, 470], land)).digits(0);
  return land.features.map((each) => [iso.numericToAlpha2(each.id ?? "") ?? "", path(each)]);
}
