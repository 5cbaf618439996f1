import type { Ctx } from '../../../app.ts'

/** The URL to which the host of a repository sends events. */
export function webhookUrl({ baseUrl }: Pick<Ctx, 'baseUrl'>, { webhook_path: path }: { webhook_path: string }) {
  return `${baseUrl}/webhooks/vcs/${path}`
}
