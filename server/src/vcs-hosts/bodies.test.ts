import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ZodError } from 'zod'
import { bitbucketCloud } from './bitbucket-cloud/api.ts'
import * as cloudBodies from './bitbucket-cloud/testing/bodies.ts'
import { bitbucketDataCenter } from './bitbucket-data-center/api.ts'
import * as dataCenterBodies from './bitbucket-data-center/testing/bodies.ts'
import { gitea } from './gitea/api.ts'
import * as giteaBodies from './gitea/testing/bodies.ts'
import { github } from './github/api.ts'
import * as githubBodies from './github/testing/bodies.ts'
import { gitlab } from './gitlab/api.ts'
import * as gitlabBodies from './gitlab/testing/bodies.ts'

const HOSTS = [
  {
    host: github,
    header: 'x-github-event',
    bodies: {
      push: githubBodies.push(),
      pull_request: githubBodies.pullRequestEvent('closed'),
      ping: githubBodies.ping('https://groundstate.example/'),
    },
    odd: { event: 'pull_request', body: { ...githubBodies.pullRequestEvent('closed'), action: 'constructor' } },
  },
  {
    host: gitea,
    header: 'x-gitea-event',
    bodies: {
      push: giteaBodies.push(),
      delete: giteaBodies.deletion('tag', 'v1'),
      pull_request: giteaBodies.pullRequestEvent('closed'),
    },
    odd: { event: 'pull_request', body: { ...giteaBodies.pullRequestEvent('closed'), action: 'constructor' } },
  },
  {
    host: gitlab,
    header: 'x-gitlab-event',
    bodies: { push: gitlabBodies.push, tag: gitlabBodies.tagPush, mergeRequest: gitlabBodies.mergeRequest },
    odd: { event: '', body: gitlabBodies.mergeRequestOf({ action: 'constructor' }) },
  },
  {
    host: bitbucketCloud,
    header: 'x-event-key',
    bodies: { 'repo:push': cloudBodies.pushOfSeveral, 'pullrequest:created': cloudBodies.pullRequest },
    odd: { event: 'constructor', body: cloudBodies.pullRequest },
  },
  {
    host: bitbucketDataCenter,
    header: 'x-event-key',
    bodies: { 'repo:refs_changed': dataCenterBodies.pushOfSeveral, 'pr:opened': dataCenterBodies.opened },
    odd: { event: 'constructor', body: dataCenterBodies.opened },
  },
]

const OUTCOMES = [['events'], ['ignored'], ['refused']]

/** Paths of all members, and of members of members. */
function pathsOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([name, member]) => pathsOf(member, [...path, name]))]
}

function replaced(value: unknown, [name, ...rest]: readonly string[], by: unknown): unknown {
  if (name === undefined || typeof value !== 'object' || value === null) return by
  const copy = structuredClone(value) as Record<string, unknown>
  copy[name] = replaced(copy[name], rest, by)
  return copy
}

describe.each(HOSTS)('a body of $host.name', ({ host, header, bodies, odd }) => {
  const parse = (event: string, body: string) =>
    host.webhooks.parse({ headers: { [header]: event }, body: Buffer.from(body) })

  /** Throws any error that is not about the body. */
  function outcomeOf(event: string, body: string) {
    try {
      const parsed = parse(event, body)
      return Object.keys(parsed).filter((name) => name !== 'identifier')
    } catch (error) {
      if (error instanceof ZodError) return ['refused']
      throw error
    }
  }

  test('with any member replaced is an event, ignored, or refused', () => {
    const cases = Object.entries<unknown>(bodies).flatMap(([event, body]) =>
      pathsOf(body).map((path) => ({ event, body, path })),
    )

    fc.assert(
      fc.property(fc.constantFrom(...cases), fc.jsonValue(), ({ event, body, path }, value) => {
        expect(OUTCOMES).toContainEqual(outcomeOf(event, JSON.stringify(replaced(body, path, value))))
      }),
      { numRuns: 2000 },
    )
  })

  test.each([...Object.keys(bodies), 'constructor', '__proto__', 'toString', ''])(
    'of the event "%s" may be anything',
    (event) => {
      fc.assert(
        fc.property(fc.oneof(fc.json(), fc.string()), (body) => {
          expect(OUTCOMES).toContainEqual(outcomeOf(event, body))
        }),
      )
    },
  )

  test('with the name of a built-in function as its action is ignored', () => {
    expect(parse(odd.event, JSON.stringify(odd.body)).ignored).toContain('constructor')
  })
})
