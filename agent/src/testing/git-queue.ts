import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  claimGitBody,
  gitRequest,
  reportGitBody,
  type GitRequest,
  type ReportGit,
} from '@groundstate/contract/agent-requests'
import { createClaimQueue } from './claim-queue.ts'
import { refuseAs, sendJson } from './replies.ts'

/** A git operation as the protocol server sees it. */
export type TestGitOperation = {
  reported: Promise<ReportGit>
  /** The uploaded archive. */
  archive: () => Buffer | undefined
  heartbeats: () => number
  /** Refuses everything about it from now on. */
  lose: () => void
}

type Record = Pick<GitRequest, 'token'> & {
  heartbeats: number
  archive?: Buffer
  isLost: boolean
  resolve: (report: ReportGit) => void
}

/** The git operations of the protocol server, in memory. */
export function createGitQueue() {
  const queue = createClaimQueue<GitRequest>()
  const records = new Map<string, Record>()
  let sequence = 0

  return {
    /** Lets an agent execute an operation. */
    submit(input: Pick<GitRequest, 'remote' | 'operation'> & { leaseMs?: number }): TestGitOperation {
      sequence += 1
      const [id, token] = [`gitreq-${sequence}`, `git-token-${sequence}`]
      const reported = Promise.withResolvers<ReportGit>()
      const record: Record = { token, heartbeats: 0, isLost: false, resolve: reported.resolve }
      records.set(id, record)
      queue.push(gitRequest.parse({ id, token, leaseMs: 30_000, ...input }))
      return {
        reported: reported.promise,
        archive: () => record.archive,
        heartbeats: () => record.heartbeats,
        lose: () => {
          record.isLost = true
        },
      }
    },
    endClaims: queue.endClaims,
    /** Pending claims. */
    claims: queue.claims,
    async claim(request: IncomingMessage, response: ServerResponse, body: Buffer) {
      const found = await queue.next(claimGitBody.parse(JSON.parse(body.toString())).waitMs, request)
      return found === undefined ? void response.writeHead(204).end() : sendJson(response, found)
    },
    receive(response: ServerResponse, given: { id: string; verb: string; token: string | undefined; body: Buffer }) {
      const record = records.get(given.id)
      if (record === undefined || record.isLost || record.token !== given.token) return refuseAs(response, 401)
      response.writeHead(204).end()
      if (given.verb === 'heartbeat') record.heartbeats += 1
      else if (given.verb === 'archive') record.archive = given.body
      else record.resolve(reportGitBody.parse(JSON.parse(given.body.toString())))
    },
  }
}
