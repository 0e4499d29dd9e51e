// The search of the site, in place of the theme's worker: it gets the index of all sections once, then questions, and answers
// with pages, best first, and the sections of each. A page counts as a whole: its title, its headings, the words that people
// type for it (docs/search_words.yaml) and its text (BM25F: Robertson and Zaragoza 2009). Words count by their stems; a word that
// no page has is taken for the beginning of one, for two written as one, or for a slip of a finger.
const LITTLE_WORDS = new Set(`a an and any are as at be by can could do does doing for from get has have how i if in into is it its me my
  need of on or should so that the there this to use using want was we what when where which who why will with would you your`.split(/\s+/));
const FIELDS = { title: 15, headings: 14, words: 20, text: 1 }; // how much a word in each counts
const OFTEN = 20; // how soon a word that comes often counts no more
const LONG = 0.75; // how much long texts count against a word in them
const TOGETHER = 0.5; // what two words that stand together in a title, a heading or a phrase of ours add, of what they count alone
const WHOLE = 0.5; // what is added where the whole question is a title, a heading or a phrase of ours
const ALMOST = 0.4; // what a word counts that only begins like the one asked for, or is spelled almost so
const FAR = 0.05; // a page with less than this part of what the best has is not shown
const TEASER = 240; // characters of a text that are shown

const ENDINGS = ["ization", "ification", "ations", "ation", "ating", "ators", "ator", "ated", "ates", "ate", "izing", "ized", "izes", "ize",
  "ify", "ified", "ions", "ion", "ings", "ing", "ed", "er", "ers", "ly"].sort((one, other) => other.length - one.length);

function stem(word) {
  if (word.length < 4 || /\d/.test(word)) return word;
  let kept = word.replace(/ies$/, "y").replace(/(ss|x|ch|sh)es$/, "$1").replace(/([^siu])s$/, "$1");
  const ending = ENDINGS.find(end => kept.endsWith(end) && kept.length - end.length >= 3 && /[aeiouy]/.test(kept.slice(0, -end.length)));
  if (ending) kept = kept.slice(0, -ending.length);
  return kept.replace(/([a-z])\1$/, "$1").replace(/(?<=...)[eiy]$/, "");
}

/** Calls `take(word, from, to)` for each word of a text, and for the parts of names such as inverse_kinematics and LinearMotor. */
function eachWord(text, separator, take) {
  for (const { 0: whole, index } of text.matchAll(/[\p{L}\p{N}]+(?:[.'’]\p{N}+)?/gu)) {
    const parts = whole.split(separator);
    if (parts.length > 1) take(whole.toLowerCase(), index, index + whole.length);
    let from = index;
    for (const part of parts) {
      if (part) take(part.toLowerCase(), from, from + part.length);
      from += part.length;
    }
  }
}

const plain = html => html.replace(/<[^>]+>/g, " ").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"')
  .replace(/&#39;/g, "'").replace(/&amp;/g, "&").replace(/\s+/g, " ").trim();
const escaped = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const together = stems => [...stems].sort().join(" ");

function entry(map, key, made) {
  let found = map.get(key);
  if (found === undefined) map.set(key, (found = made()));
  return found;
}

class Index {
  constructor({ config, docs }) {
    this.separator = new RegExp(config.separator);
    this.stems = new Map(); // of words, as they come
    this.places = new Map(); // stem → page → field → how often
    this.pairs = new Map(); // two stems that stand together in titles, headings and phrases → pages
    this.phrases = new Map(); // all stems of a title, a heading or a phrase → pages
    this.vocabulary = new Map(); // stem → a word as it is written, the most frequent first
    this.pages = [];
    const pages = new Map();
    for (const doc of docs) {
      const address = doc.location.split("#")[0];
      let page = pages.get(address);
      if (!page) {
        page = { address, sections: [], boost: doc.boost ?? 1, length: 0 };
        pages.set(address, page);
        this.pages.push(page);
      }
      const section = { doc, text: plain(doc.text), title: plain(doc.title), counts: new Map() };
      this.count(page, section, page.sections.length ? "headings" : "title", section.title);
      for (const phrase of doc.words ?? []) this.count(page, section, "words", phrase);
      this.count(page, section, "text", section.text);
      page.sections.push(section);
    }
    this.usual = this.pages.reduce((sum, page) => sum + page.length, 0) / this.pages.length;
  }

  stem(word) {
    return entry(this.stems, word, () => stem(word));
  }

  count(page, section, field, text) {
    const stems = [];
    eachWord(text, this.separator, word => {
      if (LITTLE_WORDS.has(word)) return;
      const found = this.stem(word);
      if (!this.vocabulary.has(found)) this.vocabulary.set(found, word);
      stems.push(found);
    });
    for (const found of stems) {
      const places = entry(this.places, found, () => new Map());
      const fields = entry(places, page, () => ({ title: 0, headings: 0, words: 0, text: 0 }));
      if (field === "words") fields.words = Math.max(fields.words, 1 / stems.length);
      else fields[field] += 1;
      section.counts.set(found, (section.counts.get(found) ?? 0) + FIELDS[field === "title" ? "headings" : field]);
    }
    if (field === "text") page.length += stems.length;
    else {
      entry(this.phrases, together(stems), () => new Set()).add(page);
      for (let k = 1; k < stems.length; k++) entry(this.pairs, together([stems[k - 1], stems[k]]), () => new Set()).add(page);
    }
  }

  /** The stems that a word of a question stands for, with what each counts. */
  meant(word, last) {
    const asked = this.stem(word);
    const found = new Map();
    if (this.places.has(asked)) found.set(asked, 1);
    const known = found.size > 0;
    if (word.length > 2 && (last || !known))
      for (const other of this.places.keys())
        if (other !== asked && other.startsWith(word)) found.set(other, known ? ALMOST / 4 : ALMOST);
    if (found.size) return found;
    const bare = word.replace(/\d+$/, "");
    if (bare.length > 1 && bare !== word) return this.meant(bare, false);
    for (let k = 3; k <= word.length - 3; k++) {
      const [one, other] = [this.stem(word.slice(0, k)), this.stem(word.slice(k))];
      if (this.places.has(one) && this.places.has(other)) return found.set(one, 1).set(other, 1);
    }
    if (word.length > 4)
      for (const [other, written] of this.vocabulary) if (slip(asked, other) || slip(word, written)) found.set(other, ALMOST);
    return found;
  }

  answer(question) {
    const words = [];
    eachWord(question, this.separator, word => words.push(word));
    const asked = words.filter(word => !LITTLE_WORDS.has(word));
    const wanted = (asked.length ? asked : words).map((word, k, all) => this.meant(word, k === all.length - 1));
    const scores = new Map();
    const single = []; // of each word of the question: page → score
    for (const stems of wanted) {
      const best = new Map(); // page → what this word of the question counts there
      for (const [found, weight] of stems) {
        const places = this.places.get(found);
        const rare = Math.log(1 + (this.pages.length - places.size + 0.5) / (places.size + 0.5));
        for (const [page, fields] of places) {
          const often = FIELDS.title * fields.title + FIELDS.headings * fields.headings + FIELDS.words * fields.words
            + FIELDS.text * fields.text / (1 - LONG + LONG * page.length / this.usual);
          const score = weight * rare * often / (OFTEN + often);
          if (score > (best.get(page) ?? 0)) best.set(page, score);
        }
      }
      single.push(best);
      for (const [page, score] of best) scores.set(page, (scores.get(page) ?? 0) + score);
    }
    for (let k = 1; k < wanted.length; k++)
      for (const [one] of wanted[k - 1])
        for (const [other] of wanted[k])
          for (const page of this.pairs.get(together([one, other])) ?? [])
            scores.set(page, scores.get(page) + TOGETHER * (single[k - 1].get(page) + single[k].get(page)));
    const whole = together(wanted.map(stems => stems.keys().next().value ?? ""));
    for (const page of this.phrases.get(whole) ?? []) scores.set(page, (1 + WHOLE) * scores.get(page));
    const stems = new Set(wanted.flatMap(found => [...found.keys()]));
    const ranked = [...scores].map(([page, score]) => [page, score * page.boost]).sort((one, other) => other[1] - one[1]);
    const items = ranked.filter(([, score]) => score > FAR * ranked[0][1]).map(([page, score]) => this.shown(page, score, stems));
    const suggest = asked.length ? [...(wanted.at(-1) ?? new Map()).keys()].map(found => this.vocabulary.get(found)) : [];
    return { items, suggest };
  }

  /** A page as the theme shows it: its sections with the most of what was asked first, which tells where Enter leads. */
  shown(page, score, stems) {
    const parts = page.sections.map(section => {
      let sum = 0;
      for (const found of stems) {
        const often = section.counts.get(found) ?? 0;
        sum += (often / (OFTEN + often)) * Math.log(1 + this.pages.length / this.places.get(found).size);
      }
      return { section, sum };
    });
    const most = Math.max(...parts.map(part => part.sum), 1e-9);
    const [first, ...others] = parts.map(({ section, sum }) => ({ section, score: (score * sum) / most }));
    return [first, ...others.filter(part => part.score > 0)].sort((one, other) => other.score - one.score).map(({ section, score }) => ({
      location: section.doc.location, title: this.marked(section.title, stems), text: `<p>${this.marked(this.teaser(section.text, stems), stems)}</p>`,
      score, terms: Object.fromEntries([...stems].map(found => [this.vocabulary.get(found), true])),
    }));
  }

  teaser(text, stems) {
    if (text.length <= TEASER) return text;
    let first = 0;
    eachWord(text, this.separator, (word, from) => { if (!first && stems.has(this.stem(word))) first = from; });
    const from = first < TEASER / 2 ? 0 : text.indexOf(" ", first - TEASER / 3) + 1;
    return (from ? "… " : "") + text.slice(from, from + TEASER) + (from + TEASER < text.length ? " …" : "");
  }

  marked(text, stems) {
    let done = 0;
    let result = "";
    eachWord(text, this.separator, (word, from, to) => {
      if (from < done || !stems.has(this.stem(word))) return;
      result += `${escaped(text.slice(done, from))}<mark data-md-highlight>${escaped(text.slice(from, to))}</mark>`;
      done = to;
    });
    return result + escaped(text.slice(done));
  }
}

/** Whether two words differ by one letter that is wrong, missing, too many, or has changed places with the next. */
function slip(one, other) {
  if (Math.abs(one.length - other.length) > 1 || one[0] !== other[0]) return false;
  let k = 0;
  while (k < one.length && one[k] === other[k]) k++;
  const [a, b] = [one.slice(k), other.slice(k)];
  return a.slice(1) === b.slice(1) || a.slice(1) === b || a === b.slice(1) || (a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2));
}

const [SETUP, READY, QUERY, RESULT] = [0, 1, 2, 3];
let index = null;
addEventListener("message", ({ data: { type, data } }) => {
  if (type === SETUP) {
    index = new Index(data);
    postMessage({ type: READY });
  } else if (type === QUERY) postMessage({ type: RESULT, data: index.answer(data) });
});
