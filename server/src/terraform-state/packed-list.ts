import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'

/** Below this size (bytes) compression costs more time and memory than the saved bytes are worth. */
export const COMPRESSED_FROM = 2048
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
