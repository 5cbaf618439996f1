import type { IdentityPhase } from '@groundstate/contract/workspace-identity'
import { ScanSearch } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { CODE_INPUT, FormErrors, SelectField, TextField, fieldError } from '../../components/form.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { type WorkloadIdentity, usePreviewToken } from './workload-identity.ts'

type TokenPreviewProps = { workspaceId: string; identity: WorkloadIdentity }

type Claim = WorkloadIdentity['claims'][number] & { id: string }

const COLUMNS: readonly Column<Claim>[] = [
  { header: 'Claim', cell: ({ name }) => <code>{name}</code> },
  {
    header: 'Value',
    cell: ({ plan, apply }) => (
      <>
        <code className="break-all">{plan}</code>
        {apply !== plan && (
          <>
            <span className="text-dim"> in plans, </span>
            <code className="break-all">{apply}</code>
            <span className="text-dim"> in applies</span>
          </>
        )}
      </>
    ),
  },
  { header: 'Meaning', className: 'text-dim hidden md:table-cell', cell: ({ description }) => description },
]

/** The claims of tokens, and a dry run that shows those of one. */
export function TokenPreviewCard({ workspaceId, identity }: TokenPreviewProps) {
  const preview = usePreviewToken(workspaceId)
  const configured = identity.credentials.find(({ audience }) => audience !== null)?.audience ?? ''
  const [phase, setPhase] = useState<IdentityPhase>('plan')
  const [audience, setAudience] = useState(configured)

  function submit(event: FormEvent) {
    event.preventDefault()
    if (!preview.isPending) preview.mutate({ phase, audience })
  }
  return (
    <Card
      title="Preview a token"
      about="Shows what a token of a run would contain. It is not signed, so nobody accepts it."
    >
      <div className="space-y-4">
        <details>
          <summary className="cursor-pointer font-medium">Claims of every token</summary>
          <div className="mt-2">
            <Table
              label="Claims of tokens"
              rows={identity.claims.map((claim): Claim => ({ ...claim, id: claim.name }))}
              columns={COLUMNS}
            />
          </div>
        </details>
        <form noValidate onSubmit={submit} className="space-y-4">
          <div className="grid gap-4 sm:grid-cols-[10rem_minmax(0,1fr)]">
            <SelectField
              label="Phase"
              value={phase}
              onChange={({ target }) => setPhase(target.value as IdentityPhase)}
              options={[
                ['plan', 'Plan'],
                ['apply', 'Apply'],
              ]}
              error={fieldError(preview.error, 'phase')}
            />
            <TextField
              label="Audience"
              placeholder="aws.workload.identity"
              value={audience}
              onChange={({ target }) => setAudience(target.value)}
              error={fieldError(preview.error, 'audience')}
              {...CODE_INPUT}
            />
          </div>
          <FormErrors error={preview.error} names={['phase', 'audience']} />
          <Button label="Preview token" type="submit" icon={ScanSearch} isPending={preview.isPending} />
        </form>
        <div role="status" className="space-y-3">
          {preview.data && (
            <>
              <p className="font-medium">Header</p>
              <CodeBlock label="the header" code={JSON.stringify(preview.data.header, null, 2)} />
              <p className="font-medium">Claims</p>
              <CodeBlock label="the claims" code={JSON.stringify(preview.data.claims, null, 2)} />
            </>
          )}
        </div>
      </div>
    </Card>
  )
}
