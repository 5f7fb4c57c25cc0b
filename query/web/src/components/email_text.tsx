// An e-mail address that breaks before its @ and the dots after it, not within words.
export function EmailText({ text }: { text: string }) {
  const at = text.lastIndexOf("@");
  if (at < 1) return <>{text}</>;
  const [host = "", ...labels] = text.slice(at).split(".");
  return (
    <span class="email">
      {text.slice(0, at)}<wbr />{host}{labels.map((label, i) => <span key={i}><wbr />.{label}</span>)}
    </span>
  );
}
