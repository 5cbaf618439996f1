import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { ExtractedOutput, Extraction } from './extraction.ts'
import { storableJson, storableText } from './storable-text.ts'

/** An extraction as it is kept and leaves a worker: JSON as text, long lists packed, texts as the database can hold them. */
export type PackedExtraction = {
  stateVersion: number | null
  engineVersion: string | null
  /** Managed instances. */
  resourceCount: number
  billableCount: number
  modules: string
  providers: string
  /** The list of resources when it is short; else it is in `resourceList`. */
  resources: string | null
  resourceList: Buffer | null
  /** Null when there are none. */
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

/** Below this size (bytes) compression costs more time and memory than the saved bytes are worth. */
const COMPRESSED_FROM = 2048
const OPEN_ARRAY = 0x5b

/** JSON of a list as it is kept in its version's row: as it is, or compressed when it is long. */
export function packList(json: string): Buffer {
  const bytes = Buffer.from(json)
  if (bytes.length < COMPRESSED_FROM) return bytes
  const params = { [constants.ZSTD_c_compressionLevel]: 1 }
  return zstdCompressSync(bytes, { params, pledgedSrcSize: bytes.length })
}

/** The JSON of a packed list. */
export function unpackList(packed: Buffer): Buffer {
  // Compressed data begins with 0x28.
  return packed[0] === OPEN_ARRAY ? packed : zstdDecompressSync(packed)
}
