/** Dimensions in pixels. */
export type Image = { extension: 'png' | 'jpg' | 'webp'; width: number; height: number }

/** Format and size of an image by its first bytes; undefined for another format or an incomplete header. */
export function readImage(content: Buffer): Image | undefined {
  try {
    return readPng(content) ?? readJpeg(content) ?? readWebp(content)
  } catch (error) {
    // A read past the end.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function readPng(content: Buffer): Image | undefined {
  if (content.toString('latin1', 0, 8) !== '\u0089PNG\r\n\u001A\n' || content.toString('latin1', 12, 16) !== 'IHDR')
    return undefined
  return { extension: 'png', width: content.readUInt32BE(16), height: content.readUInt32BE(20) }
}

/** The size is in the first start-of-frame segment. */
function readJpeg(content: Buffer): Image | undefined {
  if (content.readUIntBE(0, 3) !== 0xffd8ff) return undefined
  for (let at = 2; content.readUInt8(at) === 0xff; at += 2 + content.readUInt16BE(at + 2)) {
    const marker = content.readUInt8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { extension: 'jpg', height: content.readUInt16BE(at + 5), width: content.readUInt16BE(at + 7) }
  }
  return undefined
}

/** Lossy, lossless and extended files have different headers (RFC 9649). */
function readWebp(content: Buffer): Image | undefined {
  if (content.toString('latin1', 0, 4) !== 'RIFF' || content.toString('latin1', 8, 12) !== 'WEBP') return undefined
  const extension = 'webp'
  switch (content.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { extension, width: content.readUInt16LE(26) & 0x3fff, height: content.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = content.readUInt32LE(21)
      return { extension, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { extension, width: content.readUIntLE(24, 3) + 1, height: content.readUIntLE(27, 3) + 1 }
    default:
      return undefined
  }
}
