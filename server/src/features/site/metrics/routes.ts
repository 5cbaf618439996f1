import { createHash, timingSafeEqual } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import type { FastifyRequest } from 'fastify'
import { type Config, isOnLoopback } from '../../../config.ts'
import { unauthorized } from '../../../errors.ts'
import { bearerToken } from '../../../http/authenticate.ts'
import type { Routes } from '../../../http/http.ts'
import { binary, bytes } from '../../../http/responses.ts'
import { diskBytes, metricsText } from '../../../metrics.ts'
import { clusterMetricsText } from './cluster.ts'

export const metricsRoutes: Routes = (http) => {
  http.get(
    '/metrics',
    {
      access: 'public',
      prefix: '',
      polled: true,
      summary: 'Show metrics for Prometheus',
      responses: { 200: binary('text/plain') },
    },
    async ({ ctx, raw }) => {
      checkScraper(ctx.config, raw)
      const disk = await statfs(ctx.config.dataDir).catch(() => undefined)
      // For unprivileged processes: some of the free blocks are reserved.
      if (disk) diskBytes.set({ state: 'free' }, disk.bavail * disk.bsize)
      if (disk) diskBytes.set({ state: 'total' }, disk.blocks * disk.bsize)
      const cluster = await clusterMetricsText(ctx)
      const { text, contentType } = await metricsText()
      return bytes(Buffer.from(`${text}\n${cluster}`), contentType)
    },
  )
}

/** Metrics have names of organizations and pools. Throws `unauthorized` without the token, unless only this machine can reach the server. */
function checkScraper(config: Config, request: FastifyRequest) {
  const { metricsToken } = config
  if (metricsToken === undefined) {
    if (isOnLoopback(config)) return
    throw unauthorized('set GROUNDSTATE_METRICS_TOKEN, and send it as the bearer token')
  }
  const hash = (text: string) => createHash('sha256').update(text).digest()
  if (timingSafeEqual(hash(bearerToken(request) ?? ''), hash(metricsToken))) return
  throw unauthorized('the bearer token must be that of GROUNDSTATE_METRICS_TOKEN')
}
