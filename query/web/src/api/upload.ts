// Sends a file as the body of a request, with its progress: fetch has none for what it sends.
import { RequestError } from "./request";

/** Resolves once the service has the whole file; `progress` is told the fraction that is sent. */
export function uploadFile(path: string, file: File, progress: (fraction: number) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    request.setRequestHeader("X-Tidemark-Request", "1");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 0);
    request.onload = () => (request.status < 300 ? resolve() : reject(errorOf(request)));
    request.onerror = () => reject(new RequestError(0, "UNREACHABLE", ""));
    request.onabort = () => reject(new RequestError(0, "ABORTED", ""));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function errorOf({ status, statusText, responseText }: XMLHttpRequest): RequestError {
  try {
    const { error, code } = JSON.parse(responseText) as { error?: string; code?: string };
    return new RequestError(status, code ?? "", error ?? statusText);
  } catch {
    return new RequestError(status, "", statusText);
  }
}
