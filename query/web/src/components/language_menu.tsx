// Items of a menu: the languages of the page.
import { chooseLanguage, languageChoice, LANGUAGE_CHOICES, LANGUAGES } from "../state/language";
import { texts } from "../texts";
import { Icon } from "./icon";
import { MenuItem } from "./popover";

const t = texts.app;

export function LanguageItems({ close }: { close: () => void }) {
  return (
    <>
      {LANGUAGE_CHOICES.map((each) => (
        <MenuItem key={each} chosen={languageChoice === each} onClick={() => { close(); chooseLanguage(each); }}>
          <Icon name={each === "auto" ? "monitor" : "languages"} />{each === "auto" ? t.languageAuto : <span lang={each}>{LANGUAGES[each]}</span>}
        </MenuItem>
      ))}
    </>
  );
}
