// An e-mail address that breaks before its @, and nowhere else unless it has to.
export function EmailText({ text }: { text: string }) {
  const at = text.lastIndexOf("@");
  return at < 1 ? <>{text}</> : <>{text.slice(0, at)}<wbr />{text.slice(at)}</>;
}
