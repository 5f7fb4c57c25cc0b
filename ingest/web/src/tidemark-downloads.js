// tidemark-downloads.js: an event `file_download` for a click on a link to a file.
import { leave, put } from "./queue.js";
import { given } from "./tag.js";

const USUAL =
  "7z,apk,avi,bz2,csv,deb,dmg,doc,docx,epub,exe,gz,ics,iso,jar,key,mid,midi,mov,mp3,mp4,mpeg,msi," +
  "numbers,odp,ods,odt,pages,pdf,pkg,pps,ppt,pptx,rar,rpm,rtf,tar,tgz,txt,wav,webm,wma,wmv,xls," +
  "xlsx,xml,xz,zip";
const extensions = new Set((given.downloads || USUAL).toLowerCase().split(/[\s,]+/));

const clicked = ({ target, button }) => {
  if (button > 1) return;
  const link = target.closest?.("a[href]");
  if (!link?.host) return;
  const file = link.pathname.split("/").pop();
  const extension = /\.(\w+)$/.exec(file)?.[1].toLowerCase();
  if (!link.hasAttribute("download") && !extensions.has(extension)) return;
  put({
    name: "file_download",
    // Without the query string, which may hold the right to fetch the file.
    properties: { url: (link.origin + link.pathname).slice(0, 2048), file: file.slice(0, 512), extension },
  });
};

for (const type of ["click", "auxclick"]) addEventListener(type, clicked, true);
for (const type of ["pagehide", "visibilitychange"]) addEventListener(type, leave);
