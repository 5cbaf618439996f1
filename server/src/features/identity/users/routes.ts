import { createHash } from 'node:crypto'
import { documentOf } from '@groundstate/contract/responses'
import { userSchema } from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { binary, ok } from '../../../http/responses.ts'
import { requireUser } from './access.ts'
import { userResource } from './resource.ts'
import { includedUsers } from './service.ts'
import { findAvatar } from './store.ts'

export const userRoutes: Routes = (http) => {
  const responses = { 200: documentOf(userSchema) }
  http.get('/users/:userId', { summary: 'Show a user', access: 'signed-in', responses }, async (req) =>
    ok(userResource(await requireUser(req.ctx, req.params.userId), req.ctx)),
  )
}

export const userLoaders: readonly Loader[] = [{ type: 'users', load: includedUsers }]

export const avatarRoutes: Routes = (http) => {
  const responses = { 200: binary('image/*') }
  http.get(
    '/avatars/:file',
    { summary: 'Show the avatar of a user', access: 'public', prefix: '', responses },
    async (req) => ({
      status: 200,
      headers: {
        'cache-control': 'public, max-age=31536000, immutable',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      },
      content: await avatarContent(req.ctx, req.params.file),
    }),
  )
}

/** By the extensions of uploaded avatars. */
const AVATAR_TYPES = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' } as const

async function avatarContent({ db }: Ctx, file: string) {
  const extension = /^[A-Za-z\d]{32}\.(png|jpg|webp)$/.exec(file)?.[1] as keyof typeof AVATAR_TYPES | undefined
  if (!extension) return { type: 'image/svg+xml', data: avatarSvg(file.replace(/\.svg$/, '')) }
  const avatar = await findAvatar(db, file)
  if (!avatar) throw notFound('avatar')
  return { type: AVATAR_TYPES[extension], data: avatar.content }
}

const CELL = 16
const CELLS = 5

/** A pattern derived from the id alone. Unknown ids have one too, so it does not reveal which users exist. */
function avatarSvg(id: string) {
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
