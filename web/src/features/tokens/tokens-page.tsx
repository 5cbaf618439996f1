import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/answers'
import type { tokenSchema } from '@groundstate/contract/tokens'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { get, request } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { TextField } from '../../components/form.tsx'
import { Ago } from '../../components/time.tsx'
import { useSession } from '../session/session.ts'

export function TokensPage() {
  const { data: user } = useSession()
  const queries = useQueryClient()
  const [secret, setSecret] = useState<string>()
  const path = `/users/${user?.id}/authentication-tokens`
  const refresh = async () => queries.invalidateQueries({ queryKey: ['tokens'] })
  const tokens = useQuery({
    queryKey: ['tokens', user?.id],
    enabled: user != null,
    queryFn: async () => get<PageOnWire<typeof tokenSchema>>(`${path}?page[size]=100`),
  })
  const create = useMutation({
    mutationFn: async (description: string) =>
      request<DocumentOnWire<typeof tokenSchema>>('POST', path, {
        data: { type: 'authentication-tokens', attributes: { description } },
      }),
    onSuccess: async ({ data }) => {
      setSecret(data.attributes.token ?? undefined)
      await refresh()
    },
  })
  const revoke = useMutation({
    mutationFn: async (id: string) => request('DELETE', `/authentication-tokens/${id}`),
    onSettled: refresh,
  })

  function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const description = new FormData(event.currentTarget).get('description')
    if (typeof description === 'string') create.mutate(description)
    event.currentTarget.reset()
  }

  return (
    <>
      <h1 className="text-xl font-semibold tracking-tight">API tokens</h1>
      <p className="mt-1 text-sm text-dim">With one of these, terraform, scripts and other tools act as you.</p>
      <form onSubmit={onSubmit} className="mt-6 flex max-w-xl items-end gap-3">
        <div className="grow">
          <TextField label="What is it for?" name="description" placeholder="my laptop" required maxLength={255} />
        </div>
        <Button type="submit" kind="primary" className="py-2" isPending={create.isPending}>
          Create token
        </Button>
      </form>
      {create.error && <ErrorNote error={create.error} />}
      {secret !== undefined && (
        <div role="status" className="mt-4 rounded-md border border-good/30 bg-good-soft px-4 py-3">
          <p>Copy it now: it is shown this once.</p>
          <code className="mt-2 block break-all select-all">{secret}</code>
        </div>
      )}
      <div className="mt-8">
        {tokens.isPending && <Skeleton />}
        {tokens.error && <ErrorNote error={tokens.error} />}
        {revoke.error && <ErrorNote error={revoke.error} />}
        {tokens.data?.data.length === 0 && <EmptyState title="No tokens yet">Create one above.</EmptyState>}
        <ul className="divide-y divide-line">
          {tokens.data?.data.map((token) => (
            <li key={token.id} className="flex items-center gap-4 px-5 py-3 text-sm">
              <span className="font-medium">{token.attributes.description ?? token.id}</span>
              <span className="text-dim">
                created <Ago at={token.attributes['created-at']} />
                {token.attributes['last-used-at'] === null ? (
                  ', never used'
                ) : (
                  <>
                    , last used <Ago at={token.attributes['last-used-at']} />
                  </>
                )}
              </span>
              <Button
                kind="danger"
                className="ml-auto"
                isPending={revoke.isPending}
                onClick={() => {
                  const name = token.attributes.description ?? token.id
                  if (window.confirm(`Revoke “${name}”? Whatever uses it stops working at once.`))
                    revoke.mutate(token.id)
                }}
              >
                Revoke
              </Button>
            </li>
          ))}
        </ul>
      </div>
    </>
  )
}
