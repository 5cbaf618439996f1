variable "name" {
  type = string
}

variable "network" {
  type = string
}

variable "replicas" {
  type = number
}

resource "terraform_data" "replica" {
  count = var.replicas

  input = {
    name    = "${var.name}-${count.index}"
    network = var.network
  }
}

output "replicas" {
  value = terraform_data.replica[*].output.name
}
