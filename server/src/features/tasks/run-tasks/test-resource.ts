import type { TaskTestResource } from '@groundstate/contract/run-tasks'
import { describeExchange, type Verification } from './receiver.ts'
import { shownResponse } from './withheld.ts'

/** What a test of a task's receiver has shown: our own resource, for those who build a receiver. */
export function taskTestResource(
  task: { id: string },
  { request, signature, exchange }: Verification,
  isHidden: boolean,
): TaskTestResource {
  const { response } = exchange
  return {
    id: task.id,
    type: 'task-tests',
    attributes: {
      passed: response?.status === 200,
      summary: describeExchange(exchange, { isHidden }),
      'duration-ms': exchange.durationMs,
      request: { method: 'POST', url: request.url, headers: request.headers, body: request.body },
      'expected-signature': signature,
      response:
        response === undefined
          ? null
          : shownResponse(
              {
                status: response.status,
                headers: response.headers,
                body: response.body.toString('utf8'),
                'is-truncated': response.truncated,
              },
              { isHidden },
            ),
      error: exchange.error ?? null,
    },
    relationships: { task: { data: { id: task.id, type: 'tasks' } } },
  }
}
