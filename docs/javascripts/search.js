// The theme's search takes every word for the beginning of one: "a" in "lock a joint" finds all titles with algorithms or architecture.
// So words without a meaning of their own are left out of a question, with its question mark, before the worker gets it.
const LITTLE_WORDS = new Set(`a an and are as at be by can could do does for from get has have how i if in is it its me my of on or should
  so that the there this to was we what when where which who why will with would you your`.split(/\s+/));

function essence(question) {
  const words = question.replace(/\?/g, " ").split(/\s+/).filter(word => word && !LITTLE_WORDS.has(word.toLowerCase()));
  return words.length ? words.join(" ") : question;
}

const QUERY = 2; // the kind of message that has a question
const post = Worker.prototype.postMessage;
Worker.prototype.postMessage = function (message, ...rest) {
  const asked = message && message.type === QUERY && typeof message.data === "string";
  return post.call(this, asked ? { ...message, data: essence(message.data) } : message, ...rest);
};
