import type { Routes } from '../../../http/http.ts'
import { binary } from '../../../http/responses.ts'
import { avatarSvg } from './avatar.ts'

const SHOW = {
  summary: 'Show the picture of a user',
  access: 'public',
  prefix: '',
  responses: { 200: binary('image/svg+xml') },
} as const

export const avatarRoutes: Routes = (http) => {
  http.get('/avatars/:file', SHOW, async (req) => ({
    status: 200,
    headers: {
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    },
    content: { type: 'image/svg+xml', data: avatarSvg(req.params.file.replace(/\.svg$/, '')) },
  }))
}
