import { CircleCheck, CircleDashed, CircleX, FolderGit2, Hand, KeyRound, RefreshCw } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card, CardList } from '../../components/card.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { loaded } from '../../components/feedback.tsx'
import { ExternalLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { attempt, toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { Secret } from '../../components/secret.tsx'
import { Badge, type StatusStyle } from '../../components/status.tsx'
import { RelativeTime, withLocalTimes } from '../../components/time.tsx'
import {
  type Connection,
  type VcsRepository,
  rotateWebhookSecret,
  useConnectionRepositories,
  useRegisterWebhook,
} from './connections.ts'
import { PROVIDERS } from './providers.ts'

type WebhookStatus = VcsRepository['attributes']['webhook-status']

const WEBHOOKS: Readonly<Record<WebhookStatus, StatusStyle & { text: string }>> = {
  created: { text: 'webhook created', tone: 'good', icon: CircleCheck },
  pending: { text: 'webhook pending', tone: 'quiet', icon: CircleDashed },
  failed: { text: 'webhook failed', tone: 'bad', icon: CircleX },
  'by-hand': { text: 'webhook by hand', tone: 'quiet', icon: Hand },
  app: { text: 'webhook of the app', tone: 'good', icon: CircleCheck },
}

type Reported = Pick<VcsRepository['attributes'], 'webhook-status' | 'default-branch'>

/** Whether the host reports changes. No webhook is tried before the repository has been read, and with it its default branch. */
export function WebhookBadge({ repository }: { repository: Reported }) {
  const { 'webhook-status': status, 'default-branch': branch } = repository
  const isUnread = status === 'failed' && branch === null
  return <Badge {...WEBHOOKS[status]} {...(isUnread && { text: 'repository not readable' })} />
}

type RepositoriesProps = { connection: Connection; mayManage: boolean }

/** The repositories that workspaces use through a connection, and how their host reports changes. */
export function ConnectionRepositories({ connection, mayManage }: RepositoriesProps) {
  const [page, setPage] = useState<number>()
  const { data, fallback } = loaded(useConnectionRepositories(connection.id, page), { rows: 2 })
  const isByHand = data?.data.some(({ attributes }) => attributes['webhook-status'] === 'by-hand') === true
  return (
    <Card
      title="Repositories"
      about="Those that workspaces use. Choose one in the settings of a workspace, under Repository."
      isFlush
    >
      {!data && <div className="px-4 pb-4">{fallback}</div>}
      {data && (
        <CardList items={data.data} none="No workspace uses a repository of this connection yet.">
          {(repository) => <RepositoryRow key={repository.id} {...{ connection, repository, mayManage }} />}
        </CardList>
      )}
      {isByHand && mayManage && <HookExample />}
      <div className="px-4 pb-3 empty:hidden">
        <Pager pagination={data?.meta.pagination} onPage={setPage} />
      </div>
    </Card>
  )
}

type RowProps = RepositoriesProps & { repository: VcsRepository }

function RepositoryRow({ connection, repository, mayManage }: RowProps) {
  const { id, attributes } = repository
  const [secret, setSecret] = useState<string>()
  const register = useRegisterWebhook(connection.id)
  const status = attributes['webhook-status']
  const name = attributes['display-identifier']
  const isOurs = PROVIDERS[connection.attributes['service-provider']].hasApi
  const url = attributes['webhook-url']
  const needsHand = status === 'by-hand' || status === 'failed'
  return (
    <li className="space-y-2 px-4 py-2.5">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <FolderGit2 size={16} className="shrink-0 text-dim" />
        <span className="min-w-0 flex-1 basis-48 font-medium break-words">
          {attributes['page-url'] === null ? name : <ExternalLink href={attributes['page-url']}>{name}</ExternalLink>}
        </span>
        <WebhookBadge repository={attributes} />
        <span className="text-dim">{counted(attributes['workspace-count'], 'workspace')}</span>
        <span className="text-dim">
          {attributes['last-delivery-at'] === null ? (
            'no delivery yet'
          ) : (
            <>
              last delivery <RelativeTime at={attributes['last-delivery-at']} />
            </>
          )}
        </span>
        {mayManage && (
          <RowMenu
            label={`Actions for ${name}`}
            actions={[
              isOurs && {
                text: status === 'created' ? 'Create webhook again' : 'Create webhook',
                icon: RefreshCw,
                onSelect: () =>
                  void attempt(async () => {
                    await register.mutateAsync(id)
                    toast({ text: `The host is asked about ${name}` })
                  }),
              },
              needsHand && {
                text: 'New webhook secret…',
                icon: KeyRound,
                confirm: {
                  title: `Replace the webhook secret of ${name}?`,
                  consequence: 'Deliveries that are signed with the old one are refused.',
                  action: 'Replace secret',
                  kind: 'primary',
                  onConfirm: async () => setSecret((await rotateWebhookSecret(id)).secret),
                },
              },
            ]}
          />
        )}
      </div>
      {attributes['webhook-error'] !== null && (
        <p className="text-bad">{withLocalTimes(attributes['webhook-error'])}</p>
      )}
      {needsHand && url !== null && <CodeBlock label={`the webhook URL of ${name}`} code={url} />}
      {secret !== undefined && (
        <Secret
          kind="secret"
          text={secret}
          actions={<Button size="small" label="Done" onClick={() => setSecret(undefined)} />}
        />
      )}
    </li>
  )
}

const POST_RECEIVE = `#!/bin/sh
# hooks/post-receive of the repository on the git server, executable. Set the URL and the secret there:
#   git config groundstate.url …
#   git config groundstate.secret …
while read -r before after ref; do
  body=$(printf '{"ref":"%s","before":"%s","after":"%s"}' "$(printf %s "$ref" | sed 's/"/\\\\"/g')" "$before" "$after")
  signature=$(printf %s "$body" | openssl dgst -sha256 -r -hmac "$(git config groundstate.secret)" | cut -d ' ' -f 1)
  curl -fsS -m 10 --retry 3 -d "$body" -H 'Content-Type: application/json' -H "X-Groundstate-Signature: sha256=$signature" \\
    -H "X-Groundstate-Delivery: $(openssl rand -hex 16)" "$(git config groundstate.url)" > /dev/null
done`

/** How a git server without an API reports pushes. */
function HookExample() {
  return (
    <details className="border-t border-line px-4 py-3">
      <summary className="cursor-pointer font-medium">Report pushes from the git server</summary>
      <div className="mt-2 space-y-2">
        <p className="text-dim">
          A hook sends each push to the webhook URL, signed with its secret: create one with <i>New webhook secret</i>.
          Runs then start at once. A repository without one is polled every minute.{' '}
          <DocsLink page="git">Any git server</DocsLink>
        </p>
        <CodeBlock label="the post-receive hook" code={POST_RECEIVE} />
      </div>
    </details>
  )
}
