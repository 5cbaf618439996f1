import { Plus } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ErrorNote, loaded } from '../../components/feedback.tsx'
import { TextField, fieldError, formValues } from '../../components/form.tsx'
import { InlineForm, useInlineForm } from '../../components/inline-form.tsx'
import { Pager } from '../../components/pager.tsx'
import { Secret } from '../../components/secret.tsx'
import { useSession } from '../session/session.ts'
import { OrganizationTokens } from './organization-tokens.tsx'
import { ExpiryField } from './token-parts.tsx'
import { TokenTable } from './token-table.tsx'
import {
  type ListOwner,
  type Token,
  type TokenOwner,
  expiryAfter,
  revokeToken,
  rotated,
  useCreateToken,
  useTokens,
} from './tokens.ts'

/** `empty` replaces the text for no tokens; `paging` keeps the page in the address. */
type ListOptions = { empty?: ReactNode; paging?: { page: number; onPage: (page: number) => void } }
type TokensCardProps = ListOptions & {
  owner: TokenOwner
  /** Whether the user may see and manage the tokens; nothing is shown otherwise. */
  mayManage: boolean
}

/** The tokens of an owner: listed, created, rotated and revoked. A new token is shown once. */
export function TokensCard({ owner, mayManage, ...options }: TokensCardProps) {
  if (!mayManage) return null
  const { kind } = owner
  if (kind === 'organization') return <OrganizationTokens organization={owner.id} />
  return <TokenList owner={{ ...owner, kind }} {...options} />
}

const TEXTS = {
  user: {
    title: 'Personal tokens',
    about: (name: string) => `Terraform, scripts and other tools use these tokens to act as ${name}.`,
  },
  team: {
    title: 'Team tokens',
    about: (name: string) => `Pipelines use these tokens to act with the access of the team ${name}.`,
  },
  'agent-pool': { title: 'Agent tokens', about: (name: string) => `Agents use these tokens to join the pool ${name}.` },
} as const

function TokenList({ owner, empty, paging }: ListOptions & { owner: ListOwner }) {
  const [ownPage, setOwnPage] = useState(1)
  const { page, onPage } = paging ?? { page: ownPage, onPage: setOwnPage }
  const { data, fallback } = loaded(useTokens(owner, page))
  const create = useCreateToken(owner)
  const rotation = useRotation(owner)
  const { isOpen, opener, open, close } = useInlineForm()
  const { title, about } = TEXTS[owner.kind]
  const isSelf = useSession().data?.id === owner.id
  const secret = create.data?.data.attributes.token
  return (
    <Card
      title={title}
      about={
        <>
          {about(isSelf ? 'you' : owner.name)}{' '}
          <DocsLink page="authorisation" anchor="actors">
            Kinds of tokens
          </DocsLink>
        </>
      }
      actions={!isOpen && <Button ref={opener} icon={Plus} label="New token" onClick={open} />}
    >
      <div className="space-y-4">
        {isOpen && (
          <InlineForm
            action="Create token"
            mutation={create}
            names={['description']}
            onCancel={() => close()}
            onSubmit={(element) => {
              const { description = '', days } = formValues(element)
              const expiry = days !== undefined && { 'expired-at': expiryAfter(days) }
              create.mutate({ description, ...expiry }, { onSuccess: () => close() })
            }}
          >
            <TextField
              label="Description"
              name="description"
              placeholder={owner.kind === 'user' ? 'my laptop' : 'what uses it'}
              required
              maxLength={255}
              autoFocus
              error={fieldError(create.error, 'description')}
            />
            {owner.kind !== 'agent-pool' && <ExpiryField />}
          </InlineForm>
        )}
        {secret != null && (
          <Secret
            kind="token"
            text={secret}
            actions={<Button size="small" label="Done" onClick={() => create.reset()} />}
          />
        )}
        {rotation.note}
        {!data && fallback}
        {data?.rows.length === 0 && (empty ?? <p className="text-dim">No tokens yet.</p>)}
        {data && data.rows.length > 0 && (
          <div>
            <TokenTable label={title} rows={data.rows} onRotate={rotation.rotate} />
            <Pager pagination={data.pagination} onPage={onPage} />
          </div>
        )}
      </div>
    </Card>
  )
}

/** Rotation in two steps: the old token works until the user has stored the new one and revokes it. */
function useRotation(owner: ListOwner) {
  const create = useCreateToken(owner)
  const [former, setFormer] = useState<Token>()
  function rotate(token: Token) {
    setFormer(token)
    create.mutate(rotated(token, owner.kind))
  }
  function finish() {
    setFormer(undefined)
    create.reset()
  }
  const name = former?.attributes.description || former?.id
  const secret = create.data?.data.attributes.token
  const note = (
    <>
      {create.error && <ErrorNote error={create.error} />}
      {former && secret != null && (
        <Secret
          kind="token"
          text={secret}
          actions={
            <>
              <Confirm
                label="Revoke the old token"
                size="small"
                title={`Revoke the old token of “${name}”?`}
                consequence="Everything that still uses it stops working immediately."
                action="Revoke old token"
                done="Old token revoked"
                onConfirm={async () => {
                  await revokeToken(former.id)
                  finish()
                }}
              />
              <Button size="small" kind="quiet" label="Keep both" onClick={finish} />
            </>
          }
        >
          It replaces “{name}”, which works until you revoke it.
        </Secret>
      )}
    </>
  )
  return { rotate, note }
}
