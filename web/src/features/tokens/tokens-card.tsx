import { Card } from '../../components/card.tsx'

export type TokenOwner = { kind: 'user' | 'team' | 'agent-pool' | 'organization'; id: string; name: string }

type TokensCardProps = {
  owner: TokenOwner
  /** Whether the user may create and revoke tokens; they are only listed otherwise. */
  mayManage: boolean
}

/** The tokens of an owner: listed, created, rotated and revoked. A new token is shown once. */
export function TokensCard({ owner, mayManage }: TokensCardProps) {
  return (
    <Card title="Tokens" about={mayManage ? `Tokens act as ${owner.name}.` : undefined}>
      {null}
    </Card>
  )
}
