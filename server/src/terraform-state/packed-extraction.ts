import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { ExtractedOutput, Extraction } from './extraction.ts'

/** An extraction for storage: JSON as text, long lists packed, characters replaced that the database cannot store. */
export type PackedExtraction = {
  stateVersion: number | null
  engineVersion: string | null
  /** Managed instances. */
  resourceCount: number
  billableCount: number
  modules: string
  providers: string
  /** A short list of resources; a long one is in `resourceList`. */
  resources: string | null
  resourceList: Buffer | null
  instances: Buffer | null
  outputs: ExtractedOutput[]
}

export function packedExtraction(extraction: Extraction): PackedExtraction {
  const resources = storableJson(extraction.resources)
  const isShort = resources.length < COMPRESSED_FROM
  return {
    stateVersion: extraction.stateVersion,
    engineVersion: extraction.engineVersion === null ? null : storableText(extraction.engineVersion),
    resourceCount: extraction.resources.reduce(
      (sum, { type, count }) => sum + (type.startsWith('data.') ? 0 : count),
      0,
    ),
    billableCount: extraction.billableCount,
    modules: storableJson(extraction.modules),
    providers: storableJson(extraction.providers),
    resources: isShort ? resources : null,
    resourceList: isShort ? null : packList(resources),
    instances: extraction.instances.length === 0 ? null : packList(JSON.stringify(extraction.instances)),
    outputs: extraction.outputs,
  }
}

/** Minimum size for compression to be worthwhile, in bytes. */
const COMPRESSED_FROM = 2048
const OPEN_ARRAY = 0x5b

/** JSON of a list for storage in a row, compressed if it is long. */
export function packList(json: string): Buffer {
  const bytes = Buffer.from(json)
  if (bytes.length < COMPRESSED_FROM) return bytes
  const params = { [constants.ZSTD_c_compressionLevel]: 1 }
  return zstdCompressSync(bytes, { params, pledgedSrcSize: bytes.length })
}

export function unpackList(packed: Buffer): Buffer {
  // Compressed data begins with 0x28.
  return packed[0] === OPEN_ARRAY ? packed : zstdDecompressSync(packed)
}

/** Replaces U+0000 and lone surrogates, which the database cannot store, by U+FFFD. Names in a state may contain them. */
export function storableText(text: string) {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** Like `storableText`, for JSON, which escapes these characters. All escapes are matched, so that none is found inside another. */
export function storableJson(value: unknown) {
  const json = JSON.stringify(value)
  if (!json.includes('\\u')) return json
  return json.replaceAll(/\\(?:u0000|ud[89a-f]..|.)/g, (escape) => (escape.length > 2 ? '\ufffd' : escape))
}
