import type { TaskTestResource } from '@groundstate/contract/run-tasks'
import type { Task } from './service.ts'
import { exchangeWords, type Verification } from './verification.ts'

/** What a test of a task's receiver has shown: our own resource, for people who build one. */
export function taskTestResource(
  task: Pick<Task, 'id'>,
  { request, signature, exchange }: Verification,
): TaskTestResource {
  const { answer } = exchange
  return {
    id: task.id,
    type: 'task-tests',
    attributes: {
      passed: answer?.status === 200,
      summary: exchangeWords(exchange),
      'duration-ms': exchange.durationMs,
      request: { method: 'POST', url: request.url, headers: request.headers, body: request.body },
      /** Lower-case hex HMAC-SHA512 of the body's bytes; empty without a key. */
      'expected-signature': signature,
      response: answer
        ? {
            status: answer.status,
            headers: answer.headers,
            body: answer.body.toString('utf8'),
            'is-truncated': answer.truncated,
          }
        : null,
      error: exchange.error ?? null,
    },
    relationships: { task: { data: { id: task.id, type: 'tasks' } } },
  }
}
