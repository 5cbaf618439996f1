/** Values that are words without being references. */
const LITERALS = new Set(['true', 'false', 'null'])

/**
 * What is wrong with the value of a variable, which is an expression of HCL; undefined while nothing is. The parser is
 * loaded when the first value is checked.
 */
export async function hclValueProblem(value: string): Promise<string | undefined> {
  const text = value.trim()
  if (text === '') return 'the value is empty: "" is an empty text'
  if (/^[A-Za-z_][\w-]*$/.test(text) && !LITERALS.has(text))
    return `${text} is no value: text stands in quotes, "${text}"`
  const { hclLanguage } = await import('codemirror-lang-hcl')
  let isWrong = false
  hclLanguage.parser.parse(`value = ${text}\n`).iterate({
    enter: ({ type }) => {
      isWrong ||= type.isError
    },
  })
  return isWrong ? 'this is no HCL: "text", 12, true, ["a", "b"] and { key = "value" } are' : undefined
}
