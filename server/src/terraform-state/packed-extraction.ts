import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { storableJson, storableText } from '@groundstate/contract/storable'
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
  const resources = storableJson(JSON.stringify(extraction.resources))
  const isShort = resources.length < COMPRESSED_FROM
  return {
    stateVersion: extraction.stateVersion,
    engineVersion: extraction.engineVersion === null ? null : storableText(extraction.engineVersion),
    resourceCount: extraction.resources.reduce(
      (sum, { type, count }) => sum + (type.startsWith('data.') ? 0 : count),
      0,
    ),
    billableCount: extraction.billableCount,
    modules: storableJson(JSON.stringify(extraction.modules)),
    providers: storableJson(JSON.stringify(extraction.providers)),
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
