import { invalid } from '../../../errors.ts'

/** SHA256SUMS: the SHA-256 of each file by its name. Throws `invalid` for any other text. */
export function readChecksums(content: Buffer): ReadonlyMap<string, string> {
  const sums = new Map<string, string>()
  for (const [index, line] of content.toString('utf8').split('\n').entries()) {
    if (line.trim() === '') continue
    const [, sum, name] = /^([0-9a-f]{64}) [ *](\S+)\s*$/i.exec(line) ?? []
    if (sum === undefined || name === undefined)
      throw invalid(
        `line ${index + 1} of SHA256SUMS is ${JSON.stringify(line.slice(0, 100))}; it must be a SHA-256, two spaces and the name of a file`,
      )
    sums.set(name, sum.toLowerCase())
  }
  if (sums.size === 0) throw invalid('SHA256SUMS is empty: it must have a line for each archive')
  return sums
}

/** Throws `invalid` unless SHA256SUMS has the archive of a platform with its checksum. */
export function checkListed(
  sums: ReadonlyMap<string, string>,
  { filename, shasum, os, arch }: { filename: string; shasum: string; os: string; arch: string },
  pointer?: { filename: string; shasum: string },
) {
  const sum = sums.get(filename)
  if (sum === undefined) throw invalid(`SHA256SUMS has no ${filename}, the archive of ${os}_${arch}`, pointer?.filename)
  if (sum !== shasum.toLowerCase())
    throw invalid(`SHA256SUMS has ${sum} for ${filename}; the shasum of ${os}_${arch} is ${shasum}`, pointer?.shasum)
}
