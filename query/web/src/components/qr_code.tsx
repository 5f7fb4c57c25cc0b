// A QR code as SVG, to look at and to download as SVG or PNG.
import qrcode from "qrcode-generator";
import { useMemo } from "preact/hooks";
import { moreTexts } from "../texts.more";
import { save } from "./download";

const QUIET_ZONE = 4;
const PNG_SIZE = 1024;
const t = moreTexts.links;

export function QrCode({ text, name }: { text: string; name: string }) {
  const svg = useMemo(() => qrSvg(text), [text]);
  const asPng = async () => save(await png(svg), `${name}.png`);
  const asSvg = () => save(new Blob([svg], { type: "image/svg+xml" }), `${name}.svg`);
  return (
    <div class="qr">
      <img src={dataUrl(svg)} alt={t.qrOf(text)} width="160" height="160" />
      <span>
        <button type="button" class="button" onClick={asSvg}>SVG</button>
        <button type="button" class="button" onClick={() => void asPng()}>PNG</button>
      </span>
    </div>
  );
}

/** Dark modules as one path, on white, with the quiet zone of the standard (ISO/IEC 18004). */
function qrSvg(text: string): string {
  const code = qrcode(0, "M");
  code.addData(text);
  code.make();
  const count = code.getModuleCount();
  const size = count + 2 * QUIET_ZONE;
  let path = "";
  for (let y = 0; y < count; y++) {
    for (let x = 0; x < count; x++) if (code.isDark(y, x)) path += `M${x + QUIET_ZONE} ${y + QUIET_ZONE}h1v1h-1z`;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">`
    + `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${path}"/></svg>`;
}

const dataUrl = (svg: string): string => `data:image/svg+xml,${encodeURIComponent(svg)}`;

async function png(svg: string): Promise<Blob> {
  const image = new Image(PNG_SIZE, PNG_SIZE);
  image.src = dataUrl(svg);
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = PNG_SIZE;
  canvas.getContext("2d")!.drawImage(image, 0, 0, PNG_SIZE, PNG_SIZE);
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob!), "image/png"));
}
