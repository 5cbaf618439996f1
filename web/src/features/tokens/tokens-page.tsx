import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { tokenSchema } from '@groundstate/contract/tokens'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { type FormEvent, useMemo, useState } from 'react'
import { get, request } from '../../api/client.ts'
import { sendAndRefetch, useChange } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { EmptyState, loaded, Notice } from '../../components/feedback.tsx'
import { FormErrors, SelectField, TextField, fieldError, formValues } from '../../components/form.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useSession } from '../session/session.ts'
import { cliHost, firstCommands } from '../workspaces/connect-cli.tsx'

const route = getRouteApi('/frame/app/settings/tokens')

type Token = Wire<typeof tokenSchema>

export function TokensPage() {
  const { data: user } = useSession()
  // The frame shows pages only to signed-in users.
  return user ? <Tokens userId={user.id} /> : null
}

function Tokens({ userId }: { userId: string }) {
  const { page = 1 } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, fallback } = loaded(useTokens(userId, page))
  const host = cliHost(document.baseURI)
  return (
    <Page title="API tokens" about="Terraform, scripts and other tools use these tokens to act as you.">
      <div className="grid gap-4">
        <NewToken userId={userId} />
        {!data && fallback}
        {data?.data.length === 0 && (
          <EmptyState icon={KeyRound} title="No tokens yet">
            <p>{host.hasLogin ? 'The CLI creates one on login:' : 'Create one above. To use it with the CLI:'}</p>
            <CodeBlock label="the commands" code={firstCommands(host)} />
          </EmptyState>
        )}
        {data && data.data.length > 0 && (
          <div>
            <TokenTable userId={userId} tokens={data.data} />
            <Pager pagination={data.meta.pagination} onPage={(to) => void navigate({ search: { page: to } })} />
          </div>
        )}
      </div>
    </Page>
  )
}

const LIFETIMES = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
  ['', 'No expiry'],
] as const
const DAY_MS = 86_400_000

function NewToken({ userId }: { userId: string }) {
  const create = useCreateToken(userId)
  function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const { description = '', days = '' } = formValues(form)
    const end = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
    create.mutate({ description, 'expired-at': end }, { onSuccess: () => form.reset() })
  }
  const secret = create.data?.data.attributes.token
  return (
    <Card title="New token">
      <form onSubmit={onSubmit} className="flex flex-wrap items-end gap-3">
        <div className="min-w-48 flex-1 basis-64">
          <TextField
            label="Description"
            name="description"
            placeholder="my laptop"
            required
            maxLength={255}
            error={fieldError(create.error, 'description')}
          />
        </div>
        <SelectField label="Expires after" name="days" defaultValue="90" options={LIFETIMES} />
        <Button label="Create token" type="submit" kind="primary" isPending={create.isPending} />
      </form>
      <div className="mt-3 space-y-3 empty:hidden">
        <FormErrors error={create.error} names={['description']} />
        {secret != null && (
          <Notice tone="good" role="status">
            <p className="mb-2">Copy the token now: it is shown only once.</p>
            <CodeBlock label="the token" code={secret} />
          </Notice>
        )}
      </div>
    </Card>
  )
}

function TokenTable({ userId, tokens }: { userId: string; tokens: readonly Token[] }) {
  // Read once: a token that expires while the page is open is marked on the next visit.
  const [now] = useState(() => Date.now())
  const columns = useMemo<readonly Column<Token>[]>(
    () => [
      {
        header: 'Token',
        cell: ({ id, attributes }) => <span className="font-medium">{attributes.description ?? id}</span>,
      },
      {
        header: 'Created',
        className: 'hidden sm:table-cell',
        cell: ({ attributes }) => <RelativeTime at={attributes['created-at']} />,
      },
      {
        header: 'Last used',
        className: 'hidden sm:table-cell',
        cell: ({ attributes: { 'last-used-at': at } }) => (at === null ? 'never' : <RelativeTime at={at} />),
      },
      {
        header: 'Expires',
        cell: ({ attributes: { 'expired-at': at } }) => {
          if (at === null) return <span className="text-dim">never</span>
          return Date.parse(at) <= now ? <Badge tone="bad" text="expired" /> : <RelativeTime at={at} />
        },
      },
      {
        header: 'Actions',
        isHeaderHidden: true,
        className: 'text-right',
        cell: ({ id, attributes }) => (
          <Confirm
            label="Revoke"
            size="small"
            title={`Revoke “${attributes.description ?? id}”?`}
            consequence="Everything that uses it stops working immediately."
            action="Revoke token"
            onConfirm={async () => sendAndRefetch('DELETE', `/authentication-tokens/${id}`, ['tokens', userId])}
          />
        ),
      },
    ],
    [userId, now],
  )
  return <Table label="API tokens" columns={columns} rows={tokens} />
}

function useTokens(userId: string, page: number) {
  return useQuery({
    queryKey: ['tokens', userId, page],
    queryFn: async () =>
      get<PageOnWire<typeof tokenSchema>>(`/users/${userId}/authentication-tokens?page[size]=50&page[number]=${page}`),
  })
}

/** Creates a token. Its secret is in the response only, which is dropped when the page is left. */
function useCreateToken(userId: string) {
  return useChange(
    async (attributes: { description: string; 'expired-at': string | null }) =>
      request<DocumentOnWire<typeof tokenSchema>>('POST', `/users/${userId}/authentication-tokens`, {
        data: { type: 'authentication-tokens', attributes },
      }),
    ['tokens', userId],
  )
}
