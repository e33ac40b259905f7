"""The circuits as Verilog, with testbench and recorded vectors."""
