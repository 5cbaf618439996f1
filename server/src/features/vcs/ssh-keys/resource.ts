import type { SshKeyResource } from '@groundstate/contract/ssh-keys'
import type { SshKeyRow } from './store.ts'

export function sshKeyResource({ id, name }: SshKeyRow): SshKeyResource {
  return { id, type: 'ssh-keys', attributes: { name }, links: { self: `/api/v2/ssh-keys/${id}` } }
}
