import type { Ctx } from '../../../app.ts'
import { type RecipientsRow, listRecipients } from './recipients-store.ts'

/** The addresses that get the e-mails of a configuration. `problem` is the reason why there are none. */
export type Recipients = { addresses: readonly string[]; problem: string | null }

const NOBODY: Recipients = { addresses: [], problem: 'the notification configuration was deleted' }

export async function recipientsOf(ctx: Pick<Ctx, 'db' | 'config'>, configurationId: string): Promise<Recipients> {
  return (await recipientsOfAll(ctx, [configurationId])).get(configurationId) ?? NOBODY
}

/** The recipients of those of the configurations that send e-mail, in one query. */
export async function recipientsOfAll(ctx: Pick<Ctx, 'db' | 'config'>, ids: readonly string[]) {
  const rows =
    ids.length === 0 ? [] : await listRecipients(ctx.db, ids, ctx.config.notificationEmailAddresses === 'allow')
  return new Map(
    rows.map((row) => [
      row.id,
      { addresses: row.addresses, problem: row.addresses.length > 0 ? null : `nobody receives it: ${problemOf(row)}` },
    ]),
  )
}

const NO_MEMBERS = {
  workspaces: 'no recipient is named',
  projects:
    'no team with access to the project has members (owners of the organization count only as members of such a team)',
  teams: 'the team has no members',
} as const

const NOUNS = { workspaces: 'workspace', projects: 'project', teams: 'team' } as const

function problemOf(row: RecipientsRow) {
  const problems: [number, string][] = [
    [row.gone, 'left the organization, or cannot sign in or receive e-mail'],
    [row.invited, 'invited, without an account yet'],
    [row.blind, `without access to the ${NOUNS[row.subscribable]}`],
    [row.unwilling, 'chose to receive no such e-mails'],
  ]
  const counted = problems.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`)
  if (counted.length > 0) return `of those who should, ${counted.join('; ')}`
  if (row.named_addresses > 0) return 'the named addresses belong to no member of the organization'
  if (row.names_users) return 'all named users have left the organization'
  return NO_MEMBERS[row.subscribable]
}
