/** The name itself, or the first one with a number that nobody has: `sample-app`, `sample-app-2` … */
export function freeName(wanted: string, taken: ReadonlySet<string>, separator = '-') {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? wanted : `${wanted}${separator}${number}`
    if (!taken.has(name.toLowerCase())) return name
  }
}
