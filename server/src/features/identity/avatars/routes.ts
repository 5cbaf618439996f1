import type { Routes } from '../../../http/http.ts'
import { avatarSvg } from './avatar.ts'

export const avatarRoutes: Routes = (http) => {
  http.get('/avatars/:file', { access: 'public', prefix: '' }, async (req) => ({
    status: 200,
    headers: {
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    },
    content: { type: 'image/svg+xml', data: avatarSvg(req.params.file.replace(/\.svg$/, '')) },
  }))
}
