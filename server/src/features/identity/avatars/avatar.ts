import { createHash } from 'node:crypto'

const CELL = 16
const CELLS = 5

/**
 * A picture that is derived from the id alone: five by five cells, mirrored, in one colour. It reveals nothing about
 * the user. An unknown id has a picture too, so that nobody learns from it which users exist.
 */
export function avatarSvg(id: string) {
  const hash = createHash('sha256').update(`avatar:${id}`).digest()
  const hue = Math.round((hash.readUInt16BE(0) / 0xffff) * 360)
  const size = CELL * (CELLS + 1)
  let path = ''
  for (let column = 0; column < CELLS; column += 1) {
    for (let row = 0; row < CELLS; row += 1) {
      const mirrored = Math.min(column, CELLS - 1 - column)
      const isFilled = (hash[2 + mirrored * CELLS + row] ?? 0) % 2 === 0
      if (isFilled) path += `M${column * CELL + CELL / 2} ${row * CELL + CELL / 2}h${CELL}v${CELL}h-${CELL}z`
    }
  }
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="${size}" height="${size}">` +
    `<rect width="${size}" height="${size}" fill="hsl(${hue} 45% 92%)"/>` +
    `<path fill="hsl(${hue} 55% 42%)" shape-rendering="crispEdges" d="${path}"/></svg>`
  )
}
