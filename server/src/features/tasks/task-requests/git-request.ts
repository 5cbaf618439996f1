import type { GitRequest, ReportGit } from '@groundstate/contract/agent-requests'
import type { GitOperation, GitRemote } from '@groundstate/contract/git-operations'
import type { App } from '../../../app.ts'
import { sealedRequest, sealedResponse } from './task-request.ts'

/** A lease is lost after this time without a heartbeat of the agent, in ms. */
export const GIT_LEASE_MS = 45_000

/** `blobKey` is that of the archive, for an operation that writes one. */
export type GitWork = { remote: GitRemote; operation: GitOperation; blobKey?: string | undefined }

/** Encrypts the work for its column: it contains the credential. */
export function sealWork({ secrets }: Pick<App, 'secrets'>, id: string, work: GitWork) {
  return secrets.seal(JSON.stringify(work), sealedRequest.context({ id, kind: 'git' }))
}

export function openWork({ secrets }: Pick<App, 'secrets'>, row: { id: string; request: Buffer }) {
  return JSON.parse(secrets.openText(row.request, sealedRequest.context({ id: row.id, kind: 'git' }))) as GitWork
}

export function gitRequestDocument(
  app: Pick<App, 'secrets'>,
  row: { id: string; request: Buffer; timeout_ms: number },
  token: string,
): GitRequest {
  const { remote, operation } = openWork(app, row)
  return { id: row.id, token, leaseMs: row.timeout_ms, remote, operation }
}

/** Encrypts a report for its column: messages of commits may be confidential. */
export function sealReport({ secrets }: Pick<App, 'secrets'>, id: string, report: ReportGit) {
  return secrets.seal(JSON.stringify(report), sealedResponse.context({ id, kind: 'git' }))
}

export function openReport({ secrets }: Pick<App, 'secrets'>, row: { id: string; response: Buffer }) {
  return JSON.parse(secrets.openText(row.response, sealedResponse.context({ id: row.id, kind: 'git' }))) as ReportGit
}

/** Topic that wakes agents waiting for a git operation of the pool. */
export function gitTopic(poolId: string) {
  return `pool-git:${poolId}`
}
