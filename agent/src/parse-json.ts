/** The value of a JSON text; undefined for what is none, such as a file that was half written when the agent was killed. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
