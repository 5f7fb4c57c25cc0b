// Outlines of the countries as SVG paths, in a Natural Earth projection of 960 x 470, and dots for those too small to have one.
import { readFileSync } from "node:fs";
import { geoNaturalEarth1, geoPath } from "d3-geo";
import iso from "i18n-iso-countries";
import { feature } from "topojson-client";

const ANTARCTICA = "010";
const read = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}`, import.meta.url)));

function countries(file) {
  const atlas = read(`world-atlas/${file}.json`);
  return feature(atlas, atlas.objects.countries).features.filter(({ id }) => id !== ANTARCTICA);
}

const codeOf = ({ id }) => iso.numericToAlpha2(id ?? "") ?? "";

// shapes: [[two-letter code or "", path], ...]; a country without a code of its own is drawn, not named.
// dots: [[code, x, y], ...], the countries of the finer atlas that the coarse one leaves out.
export function worldPaths() {
  const land = { type: "FeatureCollection", features: countries("countries-110m") };
  const path = geoPath(geoNaturalEarth1().fitSize([960, 470], land)).digits(1);
  const drawn = new Set(land.features.map(({ id }) => id));
  const small = countries("countries-50m").filter((each) => !drawn.has(each.id) && codeOf(each));
  return {
    shapes: land.features.map((each) => [codeOf(each), path(each)]),
    dots: small.map((each) => [codeOf(each), ...path.centroid(each).map((at) => Math.round(at * 10) / 10)]),
  };
}
