import { CircleCheck, CircleDashed, History, KeyRound, RotateCw } from 'lucide-react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { Notice, loaded } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { StatusText } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type IdentityKey, activateKey, rotateKeys, useIdentityKeys } from './identity-keys.ts'

const STATES = {
  next: { text: 'Next', tone: 'busy', icon: CircleDashed },
  current: { text: 'Signs', tone: 'good', icon: CircleCheck },
  previous: { text: 'Previous', tone: 'quiet', icon: History },
} as const

/** The keys that sign the tokens of runs, and their rotation. */
export function IdentityKeysPage() {
  const { data, fallback } = loaded(useIdentityKeys(), { label: 'Loading the keys' })
  const issuer = data?.meta.issuer
  return (
    <Page
      title="Identity keys"
      about={
        <>
          They sign the tokens with which runs prove their identity to clouds.{' '}
          <DocsLink page="workload-identity" anchor="rotate-the-keys">
            Rotate the keys
          </DocsLink>
        </>
      }
      actions={
        <>
          <CopyCurl path="/admin/identity-keys" />
          {issuer && <Rotate isExternal={issuer['is-external']} canRotate={issuer['can-rotate']} />}
        </>
      }
    >
      {!data && fallback}
      {data && issuer && (
        <div className="space-y-4">
          {issuer['is-external'] && data.data.some(({ attributes }) => attributes.state === 'next') && (
            <ExportNotice url={issuer.url} />
          )}
          <Card title="Issuer">
            <DescriptionList
              facts={[
                [
                  'Address',
                  <code key="url" className="break-all">
                    {issuer.url}
                  </code>,
                ],
                [
                  'Documents',
                  issuer['is-external']
                    ? 'exported with groundstate identity export, and published there'
                    : 'served by this server',
                ],
              ]}
            />
          </Card>
          <Table label="Identity keys" rows={data.data} columns={columnsOf({ isExternal: issuer['is-external'] })} />
        </div>
      )}
    </Page>
  )
}

function Rotate({ isExternal, canRotate }: { isExternal: boolean; canRotate: boolean }) {
  return (
    <Confirm
      kind="plain"
      icon={RotateCw}
      label="Rotate"
      reason={canRotate ? undefined : 'a new key is published already and does not sign yet'}
      title="Rotate the keys?"
      consequence={
        isExternal
          ? 'A new key is created. Export and publish the documents, then activate it. Tokens remain valid.'
          : 'A new key is published now and signs in a day, when all clouds have seen it. Tokens remain valid.'
      }
      action="Rotate keys"
      done="New key created"
      onConfirm={rotateKeys}
    />
  )
}

/** The steps that remain before a new key may sign. */
function ExportNotice({ url }: { url: string }) {
  return (
    <Notice tone="warn">
      <p className="mb-2">
        A new key waits. Export the documents, publish them at {url}, then activate the key.{' '}
        <DocsLink page="workload-identity" anchor="publish-the-documents">
          Publish the documents
        </DocsLink>
      </p>
      <CodeBlock label="the command" code="groundstate identity export ./issuer" />
    </Notice>
  )
}

const columnsOf = ({ isExternal }: { isExternal: boolean }): readonly Column<IdentityKey>[] => [
  {
    header: 'State',
    cell: ({ attributes }) => <StatusText {...STATES[attributes.state]} />,
  },
  {
    header: 'Key ID',
    cell: ({ attributes }) => <code className="break-all">{attributes['key-id']}</code>,
  },
  {
    header: 'Published',
    className: 'hidden sm:table-cell',
    cell: ({ attributes }) => <RelativeTime at={attributes['published-at']} />,
  },
  { header: 'Schedule', className: 'sm:min-w-40', cell: ({ attributes }) => <Schedule attributes={attributes} /> },
  {
    header: 'Actions',
    isHeaderHidden: true,
    className: 'text-right',
    cell: ({ id, attributes }) =>
      attributes.state === 'next' && (
        <Confirm
          kind="plain"
          size="small"
          icon={KeyRound}
          label="Activate"
          reason={
            attributes.actions['is-activatable']
              ? undefined
              : 'services may still cache the keys without it for some minutes'
          }
          title="Activate the key?"
          consequence="It signs from now on. Clouds that have not seen it yet refuse the tokens of runs: the documents must be published."
          option={isExternal ? 'Activate it even if the issuer does not have it' : undefined}
          action="Activate key"
          done="Key activated"
          onConfirm={async (_, force) => activateKey(id, { force })}
        />
      ),
  },
]

/** The next change of a key. */
function Schedule({ attributes }: Pick<IdentityKey, 'attributes'>) {
  const { state, 'activates-at': activates, 'retires-at': retires, 'expires-at': expires } = attributes
  if (state === 'next')
    return activates === null ? (
      <>waits for its activation</>
    ) : (
      <>
        signs <RelativeTime at={activates} />
      </>
    )
  if (state === 'current')
    return retires === null ? (
      <span className="text-dim">none</span>
    ) : (
      <>
        stops signing <RelativeTime at={retires} />
      </>
    )
  return expires === null ? (
    <span className="text-dim">none</span>
  ) : (
    <>
      published until <RelativeTime at={expires} />
    </>
  )
}
