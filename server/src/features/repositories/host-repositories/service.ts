import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import type { HostApi, HostPage, HostRepository } from '../../../vcs-hosts/host.ts'
import { type Connection, callHost, openConnection, translateHostError } from '../connections/connection.ts'

type ListRepositories = {
  /** Part of the name. */
  query: string
  /** The owner on the host; undefined for all. */
  owner: string | undefined
  page: Page
}

/** Repositories that the host lists for the token. Throws `invalid` or `unavailable` with the words of the host. */
export async function listHostRepositories(
  ctx: Ctx,
  tokenId: string,
  { query, owner, page }: ListRepositories,
): Promise<HostPage<HostRepository>> {
  const connection = await openConnection(ctx, tokenId)
  const { name, capabilities } = connection.host
  if (!capabilities.listsRepositories)
    throw invalid(`${name} has no list of repositories: enter the identifier of the repository`)
  const input = { query, page: page.number, size: page.size }
  const { rows, nextPage } = await ask(ctx, connection, async (api) => api.listRepositories(input))
  const prefix = owner === undefined ? '' : `${owner}/`.toLowerCase()
  return { rows: rows.filter(({ identifier }) => identifier.toLowerCase().startsWith(prefix)), nextPage }
}

/** Owners of repositories on the host; none for a host without an API. */
export async function listHostOwners(ctx: Ctx, tokenId: string): Promise<string[]> {
  const connection = await openConnection(ctx, tokenId)
  if (!connection.host.api) return []
  return ask(ctx, connection, async (api) => api.listOwners())
}

/** Whether the repository exists, and the token may read it. */
export async function hasHostRepository(ctx: Ctx, tokenId: string, identifier: string) {
  const connection = await openConnection(ctx, tokenId)
  return (await ask(ctx, connection, async (api) => api.findRepository(identifier))) !== undefined
}

async function ask<T>(ctx: Ctx, connection: Connection, work: (api: HostApi) => Promise<T>) {
  return callHost(ctx, connection, work).catch((error: unknown) => translateHostError(error))
}
