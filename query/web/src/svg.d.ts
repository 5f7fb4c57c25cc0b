// An SVG file is imported as a data URL.
declare module "*.svg" {
  const url: string;
  export default url;
}
