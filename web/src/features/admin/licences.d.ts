declare module 'virtual:licences' {
  /** `text` is an index of `texts`; null for a package without one. */
  const licences: {
    packages: readonly { id: string; name: string; version: string; licence: string; text: number | null }[]
    texts: readonly string[]
  }
  export default licences
}
