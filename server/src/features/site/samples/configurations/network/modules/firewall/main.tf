variable "network" {
  type = string
}

variable "rules" {
  type = map(object({ port = number, source = string }))
}

resource "terraform_data" "rule" {
  for_each = var.rules

  input = {
    network = var.network
    port    = each.value.port
    source  = each.value.source
  }
}

output "rules" {
  value = keys(terraform_data.rule)
}
