/** Pixels of a side. */
const SIZE = 256

/** Draws the largest square around the middle of an image. */
export function drawSquare(canvas: HTMLCanvasElement, image: ImageBitmap) {
  const side = Math.min(image.width, image.height)
  const [left, top] = [(image.width - side) / 2, (image.height - side) / 2]
  canvas.width = SIZE
  canvas.height = SIZE
  const context = canvas.getContext('2d')
  if (!context) throw new Error('the browser has no canvas')
  context.imageSmoothingQuality = 'high'
  context.drawImage(image, left, top, side, side, 0, 0, SIZE, SIZE)
}

/** The file of a canvas: WebP, or PNG in browsers that cannot write it. */
export async function pictureOf(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error('the browser could not encode the picture'))),
      'image/webp',
      0.9,
    )
  })
}
