/** Bodies of service hooks of Azure DevOps, from its documentation ("Service hook events"), without the texts of messages. */

export const OLD = 'aad331d8d3b131fa9ae03cf5e53965b51942618a'
export const NEW = '33b55f7cb7e7e245323987634f960cf4a6e6bc74'
const MERGE = 'eef717f69257a6333f221566c1c987dc94cc0d72'
const ZERO = '0'.repeat(40)
const API = 'https://dev.azure.com/fabrikam/_apis'

export const repository = {
  id: '278d5cd2-584d-4b63-824a-2ba458937249',
  name: 'network',
  url: `${API}/git/repositories/278d5cd2-584d-4b63-824a-2ba458937249`,
  project: {
    id: '6ce954b1-ce1f-45d1-b94d-e6bf2464ba2c',
    name: 'Fiber Plant',
    url: `${API}/projects/6ce954b1`,
    state: 'wellFormed',
  },
  defaultBranch: 'refs/heads/main',
  remoteUrl: 'https://fabrikam@dev.azure.com/fabrikam/Fiber%20Plant/_git/network',
  sshUrl: 'git@ssh.dev.azure.com:v3/fabrikam/Fiber%20Plant/network',
  webUrl: 'https://dev.azure.com/fabrikam/Fiber%20Plant/_git/network',
}

const person = {
  id: '54d125f7-69f7-4191-904f-c5b96b6261c8',
  displayName: 'Jamal Hartnett',
  uniqueName: 'jamal@fabrikam.example',
  url: 'https://vssps.dev.azure.com/fabrikam/_apis/Identities/54d125f7',
  imageUrl: 'https://dev.azure.com/fabrikam/_api/_common/identityImage?id=54d125f7',
}

const containers = {
  resourceVersion: '1.0',
  resourceContainers: {
    collection: { id: 'c12d0eb8-e382-443b-9f9c-c52cba5014c2' },
    account: { id: 'f844ec47-a9db-4511-8281-8b63f4eaf94e' },
    project: { id: 'be9b3917-87e6-42a4-a549-2bc06a7a878f' },
  },
  createdDate: '2026-03-12T13:03:27.0379153Z',
}

const pushOf = (...refUpdates: object[]) => ({
  subscriptionId: '00000000-0000-0000-0000-000000000001',
  notificationId: 3,
  id: '03c164c2-8912-4d5e-8009-3707d5f83734',
  eventType: 'git.push',
  publisherId: 'tfs',
  message: null,
  detailedMessage: null,
  resource: {
    commits: [
      {
        commitId: NEW,
        author: { name: 'Jamal Hartnett', email: 'jamal@fabrikam.example', date: '2026-03-12T19:01:00Z' },
        committer: { name: 'Jamal Hartnett', email: 'jamal@fabrikam.example', date: '2026-03-12T19:01:00Z' },
        comment: 'Add a subnet',
        url: `${API}/git/repositories/${repository.id}/commits/${NEW}`,
      },
    ],
    refUpdates,
    repository,
    pushedBy: person,
    pushId: 14,
    date: '2026-03-12T19:17:13.3309587Z',
    url: `${API}/git/repositories/${repository.id}/pushes/14`,
  },
  ...containers,
})

const updated = { name: 'refs/heads/main', oldObjectId: OLD, newObjectId: NEW }
export const push = pushOf(updated)
export const pushOfSeveral = pushOf(
  updated,
  { name: 'refs/heads/feature/vpn', oldObjectId: ZERO, newObjectId: NEW },
  { name: 'refs/heads/old-name', oldObjectId: OLD, newObjectId: ZERO },
  { name: 'refs/tags/v1.0.0', oldObjectId: ZERO, newObjectId: NEW },
  { name: 'refs/notes/commits', oldObjectId: OLD, newObjectId: NEW },
)
export const pushOfNotes = pushOf({ name: 'refs/notes/commits', oldObjectId: OLD, newObjectId: NEW })

const commit = (commitId: string) => ({ commitId, url: `${API}/git/repositories/${repository.id}/commits/${commitId}` })

export const pullRequest = {
  repository,
  pullRequestId: 7,
  status: 'active',
  createdBy: person,
  creationDate: '2026-03-12T16:55:46.589889Z',
  title: 'Add a VPN',
  description: 'For the office.',
  sourceRefName: 'refs/heads/feature/vpn',
  targetRefName: 'refs/heads/main',
  mergeStatus: 'succeeded',
  mergeId: 'a10bb228-6ba6-4362-abd7-49ea21333dbd',
  lastMergeSourceCommit: commit(NEW),
  lastMergeTargetCommit: commit(OLD),
  // Of a trial merge, while the pull request is active.
  lastMergeCommit: commit(MERGE),
  reviewers: [],
  url: `${API}/git/repositories/${repository.id}/pullRequests/7`,
}

export const pullRequestEvent = (eventType: string, given: object = {}) => ({
  subscriptionId: '00000000-0000-0000-0000-000000000002',
  notificationId: 4,
  id: '2ab4e3d3-b7a6-425e-92b1-5a9982c1269e',
  eventType,
  publisherId: 'tfs',
  message: null,
  detailedMessage: null,
  resource: { ...pullRequest, ...given },
  ...containers,
})
export const fork = { forkSource: { name: 'refs/heads/feature/vpn', repository: { ...repository, id: 'f0f0f0f0' } } }
