#!/bin/sh
# Formats the Swift sources as `make lint` requires.
set -eu
cd "$(dirname "$0")/.."

exec "${SWIFT:-swift}" format --in-place --parallel --recursive Sources Tests Package.swift
