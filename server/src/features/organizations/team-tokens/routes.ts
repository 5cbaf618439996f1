import { createTokenBody, deleteTokensBody } from '@groundstate/contract/tokens'
import { invalidParameter } from '../../../errors.ts'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { createLegacyTeamToken, deleteLegacyTeamToken, showLegacyTeamToken } from './manage-legacy-token.ts'
import { createTeamToken } from './create.ts'
import { deleteTeamTokens } from './delete.ts'
import { type ListTeamTokens, listTeamTokens, listTokensOfTeam } from './list.ts'
import { TEAM_TOKEN_SORTS, type TeamTokenSort } from './store.ts'
import type { Page } from '../../../db/page.ts'

const LEGACY = '/teams/:teamId/authentication-token'
const NAMED = '/teams/:teamId/authentication-tokens'
const OF_ORGANIZATION = '/organizations/:organizationName/team-tokens'

export const teamTokenRoutes: Routes = (http) => {
  http.get(LEGACY, async (req) => ok(tokenResource(await showLegacyTeamToken(req.ctx, req.params.teamId))))

  http.post(LEGACY, { body: createTokenBody }, async (req) => {
    const { token, text } = await createLegacyTeamToken(req.ctx, req.params.teamId, req.body)
    return created(tokenResource(token, text))
  })

  http.delete(LEGACY, async (req) => {
    await deleteLegacyTeamToken(req.ctx, req.params.teamId)
    return noContent()
  })

  http.get(NAMED, async (req) => {
    const page = req.page()
    const { rows, total } = await listTokensOfTeam(req.ctx, req.params.teamId, readQuery(req.query, page))
    return listPage({ url: req.url, page }, { rows: rows.map((row) => tokenResource(row)), total })
  })

  http.post(NAMED, { body: createTokenBody }, async (req) => {
    const { token, text } = await createTeamToken(req.ctx, req.params.teamId, req.body)
    return created(tokenResource(token, text))
  })

  http.get(OF_ORGANIZATION, async (req) => {
    const page = req.page()
    const { rows, total } = await listTeamTokens(req.ctx, req.params.organizationName, readQuery(req.query, page))
    return listPage({ url: req.url, page }, { rows: rows.map((row) => tokenResource(row)), total })
  })

  http.delete(OF_ORGANIZATION, { body: deleteTokensBody }, async (req) => {
    const ids = req.body.data.map((token) => token.id)
    await deleteTeamTokens(req.ctx, req.params.organizationName, ids)
    return noContent()
  })
}

const EXPIRY_STATUSES = ['expired', 'active', 'never'] as const

function readQuery(query: Record<string, unknown>, page: Page): ListTeamTokens {
  const text = (name: string) => {
    const value = query[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const sort = text('sort') ?? '-created-at'
  const name = TEAM_TOKEN_SORTS.find((known) => known === sort.replace(/^-/, ''))
  if (name === undefined)
    throw invalidParameter(`sort is ${sort}, it must be among ${TEAM_TOKEN_SORTS.join(', ')}`, 'sort')
  const status = text('filter[expiry_status]')
  const expiry = EXPIRY_STATUSES.find((known) => known === status)
  if (status !== undefined && expiry === undefined)
    throw invalidParameter(
      `filter[expiry_status] is ${status}, it must be among ${EXPIRY_STATUSES.join(', ')}`,
      'filter[expiry_status]',
    )
  return { page, q: text('q'), expiry, sort: name as TeamTokenSort, descending: sort.startsWith('-') }
}
