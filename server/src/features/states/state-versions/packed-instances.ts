import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { ExtractedInstance } from '../../../terraform-state/extraction.ts'

/** Below this size (bytes) compression costs more time and memory than the saved bytes are worth. */
const COMPRESSED_FROM = 2048
const OPEN_ARRAY = 0x5b

/** A list of instances as it is kept in its version's row: as JSON, compressed when it is long; null when it is empty. */
export function packInstances(instances: readonly ExtractedInstance[]): Buffer | null {
  if (instances.length === 0) return null
  const json = Buffer.from(JSON.stringify(instances))
  if (json.length < COMPRESSED_FROM) return json
  const params = { [constants.ZSTD_c_compressionLevel]: 1 }
  return zstdCompressSync(json, { params, pledgedSrcSize: json.length })
}

export function unpackInstances(packed: Buffer): ExtractedInstance[] {
  // Compressed data begins with 0x28.
  const json = packed[0] === OPEN_ARRAY ? packed : zstdDecompressSync(packed)
  return JSON.parse(json.toString('utf8')) as ExtractedInstance[]
}
