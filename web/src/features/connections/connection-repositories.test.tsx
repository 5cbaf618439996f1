import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { WebhookBadge } from './connection-repositories.tsx'

test.each([
  ['created', 'main', 'webhook created'],
  ['by-hand', null, 'webhook by hand'],
  ['failed', 'main', 'webhook failed'],
  ['failed', null, 'repository not readable'],
] as const)('a webhook that is %s, with the default branch %j, is shown as %s', (status, branch, shown) => {
  const repository = { 'webhook-status': status, 'default-branch': branch }

  expect(renderToStaticMarkup(<WebhookBadge repository={repository} />)).toContain(shown)
})
