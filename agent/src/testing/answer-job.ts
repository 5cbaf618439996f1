import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type ArtifactKind,
  type DocumentsHeader,
  documentsHeader,
  finishBody,
  heartbeatBody,
  resultHeader,
} from '@groundstate/contract/agent'
import { openEnvelope } from '@groundstate/contract/envelope'
import type { JobRecord } from './protocol-job.ts'
import { refuseAs, sendJson } from './replies.ts'

type JobRequest = {
  request: IncomingMessage
  response: ServerResponse
  target: URL
  verb: string
  kind: string
  body: Buffer
}

/** Responds to the requests of a job's agent. */
export async function answerJob(record: JobRecord, { request, response, target, verb, kind, body }: JobRequest) {
  switch (verb) {
    case 'heartbeat': {
      const { waitMs, seen } = heartbeatBody.parse(JSON.parse(body.toString()))
      if (record.nextCommand === seen) await commandChange(record, waitMs)
      if (record.lost || record.givenUp) return refuseAs(response, 409)
      return sendJson(response, { command: record.nextCommand })
    }
    case 'log': {
      const offset = Number(target.searchParams.get('offset'))
      if (offset > record.bytes.length) return refuseAs(response, 416)
      record.bytes = Buffer.concat([record.bytes, body.subarray(record.bytes.length - offset)])
      for (const listener of record.onLog) listener()
      return sendJson(response, { size: record.bytes.length })
    }
    case 'artifacts': {
      // Not validated: a test would notice an unknown kind in the map.
      const name = kind as ArtifactKind
      if (request.method === 'PUT') {
        record.artifacts.set(name, body)
        return void response.writeHead(204).end()
      }
      const artifact = record.artifacts.get(name)
      return artifact === undefined ? refuseAs(response, 404) : void response.end(artifact)
    }
    case 'configuration':
      record.fetched += 1
      return void response.end(record.configuration)
    case 'finish':
      record.lost = record.refusesOutcome
      if (record.lost) return refuseAs(response, 409)
      record.ended = true
      response.writeHead(204).end()
      return record.resolveFinished(finishBody.parse(JSON.parse(body.toString())))
    case 'result': {
      const { header, content } = openEnvelope(body) ?? {}
      const { outcome, log, files, takesApply } = resultHeader.parse(header)
      const offset = log?.offset ?? 0
      if (offset > record.bytes.length) return refuseAs(response, 416)
      record.lost = record.refusesOutcome
      if (record.lost) return refuseAs(response, 409)
      const rest = Buffer.from(content ?? []).subarray(0, log?.size ?? 0)
      record.bytes = Buffer.concat([record.bytes, rest.subarray(record.bytes.length - offset)])
      for (const listener of record.onLog) listener()
      keepFiles(record, files, Buffer.from(content ?? []).subarray(log?.size ?? 0))
      record.ended = true
      if (takesApply && record.next !== undefined) sendJson(response, record.next)
      else response.writeHead(204).end()
      return record.resolveFinished(outcome)
    }
    case 'documents': {
      const { header, content } = openEnvelope(body) ?? {}
      const documents = documentsHeader.parse(header)
      if (!record.ended) return refuseAs(response, 409)
      keepFiles(record, documents.files, Buffer.from(content ?? []))
      response.writeHead(204).end()
      return record.resolveDocuments(documents)
    }
    case 'release':
      response.writeHead(204).end()
      return record.resolveReleased()
    default:
      return refuseAs(response, 404)
  }
}

function keepFiles(record: JobRecord, files: DocumentsHeader['files'], content: Buffer) {
  let at = 0
  for (const { kind, size } of files) {
    record.artifacts.set(kind, content.subarray(at, at + size))
    at += size
  }
}

function commandChange(record: JobRecord, waitMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      record.onCommand.delete(finish)
      resolve()
    }
    const timer = setTimeout(finish, waitMs)
    record.onCommand.add(finish)
  })
}
