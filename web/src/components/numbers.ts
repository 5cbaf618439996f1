/** "1 resource", "2 resources", "1,204 resources". */
export function counted(count: number, one: string, many = `${one}s`) {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** "980 B", "1.2 MB", from bytes; a KB has 1,000. */
export function byteSize(bytes: number) {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  const value = bytes / 1000 ** step
  return `${step === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[step]}`
}

export function capitalized(text: string) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
