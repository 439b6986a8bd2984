// Asking the server, with the key if there is one; what goes wrong is an error in words.

let key = "";

export const useKey = (given) => {
  key = given;
};

export class Refused extends Error {} // the key is missing or wrong

export async function get(path, params = {}, signal = undefined) {
  const query = new URLSearchParams(params).toString();
  let answer;
  try {
    answer = await fetch(query ? `${path}?${query}` : path, { headers: key ? { "X-API-Key": key } : {}, signal });
  } catch (error) {
    if (error.name === "AbortError") {
      throw error;
    }
    throw new Error("The server does not answer. Is it still running?");
  }
  let told;
  try {
    told = await answer.json();
  } catch {
    throw new Error(`The server's answer cannot be read (status ${answer.status}).`);
  }
  if (answer.status === 401) {
    throw new Refused(told.error);
  }
  if (!answer.ok) {
    const later = answer.headers.get("Retry-After");
    throw new Error(later ? `${told.error} (in about ${later} s)` : told.error);
  }
  return told;
}

export const route = (index, name) => `/v1/${encodeURIComponent(index)}/${name}`;
